import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Ruling } from '../decision/ruling.ts'
import { Gate } from '../gate.ts'
import type { GatewayOptions } from '../options.ts'
import type { Config } from './config.ts'
import { type Log, logDecision } from './log.ts'
import { Metrics } from './metrics.ts'
import { askedBy, type Dialect, dialectOf } from './questions.ts'
import { reply } from './replies.ts'

/** More than the proxies in front take, so that they refuse what is too long, and not this. */
const MOST_HEADER_BYTES = 64 * 1024

/** Answers proxies that ask whether to let a request in. */
export class ForwardAuth {
  readonly metrics = new Metrics()
  readonly #log: Log
  readonly #server: Server
  #gate: Gate
  #config: Config
  #draining = false

  constructor(config: Config, log: Log) {
    this.#log = log
    this.#config = config
    this.#gate = new Gate(this.#optionsOf(config))
    this.#server = createServer({ maxHeaderSize: MOST_HEADER_BYTES }, (request, response) =>
      this.#answer(request, response),
    )
    // The proxy in front keeps connections open, and ends them sooner: 60 seconds in nginx, 2 minutes in Caddy.
    this.#server.keepAliveTimeout = 150_000
  }

  get config(): Config {
    return this.#config
  }

  /**
   * @returns the port
   * @throws Error where it cannot listen there
   */
  listen(): Promise<number> {
    const { host, port } = this.#config
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(port, host, () => {
        this.#server.off('error', reject)
        resolve((this.#server.address() as AddressInfo).port)
      })
    })
  }

  /** Goes on by another policy. Requests that are being decided are decided by the one that they came under. */
  use(config: Config): void {
    this.#gate = new Gate(this.#optionsOf(config), this.#gate)
    this.#config = config
    this.#log.level = config.logLevel
  }

  /** Ends once every request is answered: proxies are told first, so that they send no more. */
  async stop(): Promise<void> {
    if (this.#draining) return
    this.#draining = true
    await new Promise((resolve) => setTimeout(resolve, this.#config.drainSeconds * 1000))
    const late = setTimeout(() => this.#server.closeAllConnections(), this.#config.timeoutMs + 5000)
    await new Promise((resolve) => this.#server.close(resolve))
    clearTimeout(late)
  }

  #optionsOf({ registry, policy, sessions, timeoutMs }: Config): GatewayOptions {
    return {
      service: registry,
      policy,
      timeoutMs,
      sessions,
      onDecision: (decision, request) => {
        this.metrics.decided(decision)
        logDecision(this.#log, decision, request)
      },
    }
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    if (this.#draining) response.setHeader('connection', 'close')
    const { url = '' } = request
    const dialect = dialectOf(url)
    if (dialect === null) this.#answerOther(url, response)
    else this.#answerProxy(dialect, request, response)
  }

  #answerProxy(dialect: Dialect, request: IncomingMessage, response: ServerResponse): void {
    const gate = this.#gate
    const sessions = this.#config.sessions !== undefined
    const asked = askedBy(dialect, request, gate, sessions)
    if (asked === null) {
      const mistake = 'X-Forwarded-Method and X-Forwarded-Uri do not say which request it is about.'
      this.#log('error', 'question', { mistake })
      // No 2xx: nothing gets in by a mistake in the configuration of a proxy.
      answerText(response, 400, `${mistake}\n`)
      return
    }
    const ruling = gate.decide(asked)
    const answer = (each: Ruling) => reply(dialect, each, gate, sessions, request, response)
    if (ruling instanceof Promise) ruling.then(answer)
    else answer(ruling)
  }

  #answerOther(url: string, response: ServerResponse): void {
    const [path] = url.split('?', 1)
    if (path === '/healthz') answerText(response, 200, 'ok\n')
    else if (path === '/metrics') answerText(response, 200, String(this.metrics))
    else if (path !== '/readyz') answerText(response, 404, 'Proxies ask below /auth/.\n')
    else if (this.#draining) answerText(response, 503, 'ending\n')
    else answerText(response, 200, 'ready\n')
  }
}

function answerText(response: ServerResponse, status: number, body: string): void {
  response
    .writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' })
    .end(body)
}
