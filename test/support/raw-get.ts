import { request } from 'node:http'
import type { TestService } from './service.ts'

/** A response as it was sent. */
export interface RawAnswer {
  readonly status: number | undefined
  /** Header names and values in the order sent, without the date. */
  readonly headers: readonly string[]
  readonly body: string
}

/**
 * Sends a GET without changing anything in it.
 * @param headers names and values alternating; a Host header replaces that of the client
 */
export function rawGet(
  service: TestService,
  path: string,
  headers: readonly string[] = [],
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const named = headers.includes('Host') ? headers : ['Host', 'localhost', ...headers]
    const { hostname, port } = new URL(service.url)
    // Not as a URL, of which Node would drop an empty query.
    const init = { hostname, port, path, headers: named as unknown as Record<string, string> }
    request(init, (response) => {
      let body = ''
      response.on('data', (chunk) => (body += chunk))
      response.on('end', () => {
        const date = response.rawHeaders.indexOf('Date')
        const rest = response.rawHeaders.toSpliced(date, 2)
        resolve({ status: response.statusCode, headers: rest, body })
      })
    })
      .on('error', reject)
      .end()
  })
}
