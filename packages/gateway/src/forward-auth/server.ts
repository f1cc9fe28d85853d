import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { NonceStore } from '@countersign/sdk'
import type { Outcome } from '../decision/outcome.ts'
import { Gate, type GateOptions } from '../gate.ts'
import type { Config } from './config.ts'
import { type Log, logDecision } from './log.ts'
import { Metrics } from './metrics.ts'
import { type Dialect, dialectFor, proxyRequest } from './proxy-request.ts'
import { reply } from './proxy-response.ts'
import { SignInEndpoint } from './sign-in-endpoint.ts'

/** Higher than the limits of the proxies in front, so that the proxy refuses long headers with its own error. */
const MAX_HEADER_BYTES = 64 * 1024

/** The HTTP server that proxies ask whether to admit a request. */
export class ForwardAuth {
  readonly metrics = new Metrics()
  readonly #log: Log
  readonly #server: Server
  readonly #nonces: NonceStore | undefined
  #gate: Gate
  /** Null if the site behind serves its own. */
  #signIn: SignInEndpoint | null
  #config: Config
  #draining = false

  /** @param nonces shared with other processes. Default: the memory of this process */
  constructor(config: Config, log: Log, nonces?: NonceStore) {
    this.#log = log
    this.#nonces = nonces
    this.#config = config
    this.#gate = new Gate(this.#optionsOf(config))
    this.#signIn = signInOf(config)
    this.#server = createServer({ maxHeaderSize: MAX_HEADER_BYTES }, (request, response) =>
      this.#answer(request, response),
    )
    // Longer than the proxies' own time-outs (60 s in nginx, 2 min in Caddy), so that the proxy closes first.
    this.#server.keepAliveTimeout = 150_000
  }

  get config(): Config {
    return this.#config
  }

  /**
   * @returns the port
   * @throws Error if it cannot listen on the configured host and port
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

  /** Switches to another configuration. Requests in progress are still decided by the previous one. */
  use(config: Config): void {
    const previous = this.#gate
    this.#gate = new Gate(this.#optionsOf(config), previous)
    // After the new one has begun, so that both share the followers of the issuers that stay.
    void previous.close()
    this.#signIn = signInOf(config)
    this.#config = config
    this.#log.level = config.logLevel
  }

  /** Stops after all requests are answered. First reports itself as not ready, so that proxies stop sending requests. */
  async stop(): Promise<void> {
    if (this.#draining) return
    this.#draining = true
    await new Promise((resolve) => setTimeout(resolve, this.#config.drainSeconds * 1000))
    const deadlineMs = this.#config.timeoutMs + 5000
    const deadline = setTimeout(() => this.#server.closeAllConnections(), deadlineMs)
    await new Promise((resolve) => this.#server.close(resolve))
    clearTimeout(deadline)
    await this.#gate.close()
  }

  #optionsOf({ registry, policy, audiences, issuer, sessions, timeoutMs }: Config): GateOptions {
    return {
      service: registry,
      followsIssuers: true,
      seesBodies: false,
      policy,
      timeoutMs,
      audiences,
      issuer: issuer === '' ? undefined : issuer,
      sessions: sessions?.reader,
      signInUrl: sessions?.signIn?.path,
      nonces: this.#nonces,
      onFeedFault: (fault) => this.metrics.recordFeedFault(fault),
      onDecision: (decision, request) => {
        this.metrics.recordDecision(decision)
        logDecision(this.#log, decision, request)
      },
    }
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    if (this.#draining) response.setHeader('connection', 'close')
    const { url = '' } = request
    const dialect = dialectFor(url)
    if (this.#signIn?.isAt(url)) this.#answerSignIn(this.#signIn, request, response)
    else if (dialect === null) this.#answerOther(url, response)
    else this.#answerProxy(dialect, request, response)
  }

  #answerProxy(dialect: Dialect, request: IncomingMessage, response: ServerResponse): void {
    const gate = this.#gate
    const clientRequest = proxyRequest(dialect, request, gate)
    if (typeof clientRequest === 'string') {
      const mistake = clientRequest
      this.#log('error', 'question', { mistake })
      // Not 2xx, so that a misconfigured proxy admits nothing.
      answerText(response, 400, `${mistake}\n`)
      return
    }
    const outcome = gate.decide(clientRequest)
    const answer = (each: Outcome) =>
      reply(dialect, each, gate, () => clientRequest.raw(), request, response)
    if (outcome instanceof Promise) outcome.then(answer)
    else answer(outcome)
  }

  #answerSignIn(
    endpoint: SignInEndpoint,
    request: IncomingMessage,
    response: ServerResponse,
  ): void {
    const { method } = request
    response.once('finish', () => {
      const status = response.statusCode
      this.metrics.recordSignIn(status)
      this.#log(status < 400 ? 'info' : 'warn', 'sign-in', { method, status })
    })
    endpoint.answer(request, response, performance.now())
  }

  #answerOther(url: string, response: ServerResponse): void {
    const [path] = url.split('?', 1)
    if (path === '/healthz') answerText(response, 200, 'ok\n')
    else if (path === '/metrics') answerText(response, 200, String(this.metrics))
    else if (path !== '/readyz')
      answerText(response, 404, 'Not found. Authorization requests go to /auth/.\n')
    else if (this.#draining) answerText(response, 503, 'ending\n')
    else answerText(response, 200, 'ready\n')
  }
}

function signInOf({ sessions, policy }: Config): SignInEndpoint | null {
  const settings = sessions?.signIn ?? null
  return settings === null ? null : new SignInEndpoint(settings, policy.limit)
}

function answerText(response: ServerResponse, status: number, body: string): void {
  response
    .writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' })
    .end(body)
}
