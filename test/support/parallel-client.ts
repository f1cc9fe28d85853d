import { Agent, request } from 'node:http'
import type { Answer } from './answer.ts'
import type { TestService } from './service.ts'

/** A client that sends many requests in parallel, over up to 64 connections. */
export class ParallelClient {
  readonly #url: string
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 })

  constructor(service: TestService, t: { after(end: () => void): void }) {
    this.#url = service.url
    t.after(() => this.#agent.destroy())
  }

  /** Posts every body in parallel. @returns the answers in the order of the bodies */
  postAll(path: string, bodies: readonly unknown[]): Promise<Answer[]> {
    return Promise.all(bodies.map((body) => this.#send('POST', path, JSON.stringify(body))))
  }

  getAll(paths: readonly string[]): Promise<Answer[]> {
    return Promise.all(paths.map((path) => this.#send('GET', path)))
  }

  #send(method: string, path: string, body?: string): Promise<Answer> {
    const headers = body === undefined ? {} : { 'content-type': 'application/json' }
    return new Promise((resolve, reject) => {
      request(this.#url + path, { method, headers, agent: this.#agent }, (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk) => (text += chunk))
        response.on('error', reject)
        response.on('end', () => {
          const headers = new Headers(response.headers as Record<string, string>)
          resolve({ status: response.statusCode as number, headers, text })
        })
      })
        .on('error', reject)
        .end(body)
    })
  }
}
