import type { CookieSerializeOptions } from '@fastify/cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** `session`: a signed-in owner. `flow`: a sign-in or verification in progress. `checked`: challenges answered at /check. */
export type CookieKind = 'session' | 'flow' | 'checked'

/**
 * Reads and sets the service's cookies. Over https, the prefix `__Host-` binds them to this host. On plain http, which
 * config allows for loopback, browsers reject that prefix, and they share cookies between ports, so the name has the port.
 */
export class Cookies {
  readonly #secure: boolean
  readonly #suffix: string

  /** @param baseUrl BASE_URL */
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

  /** The same for routes that do not parse cookies. */
  readUnparsed(
    { headers }: { readonly headers: { readonly cookie?: string | undefined } },
    kind: CookieKind,
  ): string | null {
    const prefix = `${this.name(kind)}=`
    const pairs = headers.cookie?.split(/; */) ?? []
    return pairs.find((pair) => pair.startsWith(prefix))?.slice(prefix.length) ?? null
  }

  /** Reads a single-use cookie, and clears it whatever the response will be. */
  take(request: FastifyRequest, reply: FastifyReply, kind: CookieKind): string | null {
    this.clear(reply, kind)
    return this.read(request, kind)
  }

  /** @param seconds its Max-Age */
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
