import type { CookieSerializeOptions } from '@fastify/cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** What a browser keeps for us. */
export type CookieKind = 'session' | 'flow'

/**
 * Cookies of ours. `__Host-` binds them to this host over https; on plain http, which config allows for loopback,
 * browsers refuse that prefix, and since they do not tell ports apart, the port is in the name.
 */
export class Cookies {
  readonly #secure: boolean
  readonly #suffix: string

  /** @param baseUrl where the service stands */
  constructor(baseUrl: string) {
    const url = new URL(baseUrl)
    this.#secure = url.protocol === 'https:'
    this.#suffix = url.port === '' ? '' : `-${url.port}`
  }

  name(kind: CookieKind): string {
    return this.#secure ? `__Host-${kind}` : `countersign-${kind}${this.#suffix}`
  }

  read(request: FastifyRequest, kind: CookieKind): string | null {
    return request.cookies[this.name(kind)] ?? null
  }

  /** Reads what is good for one answer, whatever that will be. */
  take(request: FastifyRequest, reply: FastifyReply, kind: CookieKind): string | null {
    this.clear(reply, kind)
    return this.read(request, kind)
  }

  /** @param seconds how long the browser keeps it */
  write(reply: FastifyReply, kind: CookieKind, value: string, seconds: number): void {
    reply.setCookie(this.name(kind), value, { ...this.#options(), maxAge: seconds })
  }

  clear(reply: FastifyReply, kind: CookieKind): void {
    reply.clearCookie(this.name(kind), this.#options())
  }

  #options(): CookieSerializeOptions {
    return { path: '/', httpOnly: true, sameSite: 'lax', secure: this.#secure }
  }
}
