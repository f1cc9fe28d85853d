import { METHODS } from 'node:http'
import { CodedError } from '@countersign/protocol'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import findMyWay from 'find-my-way'
import { allowAnyOrigin } from './cors.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The route's pattern, if the request was rejected with 405. */
    refusedPattern: string | null
  }
}

/** Methods that reach the router. Node emits a separate event for CONNECT. */
const ALL_METHODS = METHODS.filter((method) => method !== 'CONNECT')

/** A URL pattern of the service with its methods. */
interface Address {
  readonly pattern: string
  /** As they are, or `:` for one with a parameter, and `*` for a wildcard. */
  readonly segments: readonly string[]
  readonly methods: readonly string[]
  /** Whether pages of any origin may read its responses. */
  readonly anyOrigin: boolean
}

/** Answers 405 with `Allow` if a URL does not support a method (RFC 9110 section 15.5.6); Fastify would answer 404. */
export class MethodGuard {
  readonly #methods = new Map<string, Set<string>>()
  readonly #anyOrigin = new Set<string>()
  #addresses: readonly Address[] = []
  #router: ReturnType<typeof routerOf> | null = null

  /** Records every route that is registered after this call. */
  constructor(app: FastifyInstance) {
    app.decorateRequest('refusedPattern', null)
    for (const method of ALL_METHODS) {
      if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
    }
    app.addHook('onRoute', ({ url, method, onRequest }) => {
      if ([onRequest].flat().includes(allowAnyOrigin)) this.#anyOrigin.add(url)
      const known = this.#methods.get(url) ?? new Set()
      for (const each of [method].flat()) known.add(each)
      this.#methods.set(url, known)
    })
  }

  /**
   * Call it after the last route. Registers 405 answers for methods that would reach another pattern for the same URL: GET of
   * `/api/agents/token`, which supports only POST, would reach `/api/agents/:agent`.
   */
  finish(app: FastifyInstance): void {
    this.#addresses = [...this.#methods].map(([pattern, methods]) => ({
      pattern,
      segments: pattern.split('/').map(formOf),
      methods: [...methods].sort(),
      anyOrigin: this.#anyOrigin.has(pattern),
    }))
    for (const [address, method] of shadowedMethods(this.#addresses)) {
      app.route({
        url: address.pattern,
        method,
        exposeHeadRoute: false,
        schema: { hide: true },
        onRequest: (request, reply, done) => done(reject(address, request, reply)),
        handler: () => undefined,
      })
    }
  }

  /**
   * The error for a request without a route. Sets the `Allow` header.
   * @returns null if no pattern matches the URL, whatever the method
   */
  methodError(request: FastifyRequest, reply: FastifyReply): CodedError | null {
    // Created on first use: it would take much of the startup time, and many processes never need it.
    this.#router ??= routerOf(this.#addresses)
    const found = this.#router.find('GET', request.raw.url as string)
    return found === null ? null : reject(found.store as Address, request, reply)
  }
}

/** The same router as Fastify's, with all patterns registered under one method. */
function routerOf(addresses: readonly Address[]) {
  // Node already limits the length of the request line.
  const router = findMyWay({ maxParamLength: Number.MAX_SAFE_INTEGER })
  for (const address of addresses) router.on('GET', address.pattern, () => undefined, address)
  return router
}

/** For each address, the methods it does not support but an overlapping pattern does. */
function shadowedMethods(addresses: readonly Address[]): Map<Address, string[]> {
  const variable = addresses.filter(({ segments }) =>
    segments.some((each) => each === ':' || each === '*'),
  )
  const overlapping = addresses.map((address) => {
    const others = variable.filter(({ segments }) => overlap(segments, address.segments))
    return [address, others] as const
  })
  const shadowed = new Map<Address, string[]>()
  const answers = (address: Address) => [...address.methods, ...(shadowed.get(address) ?? [])]
  // An added 405 route can itself shadow an address: repeat until nothing is added.
  for (let added = true; added; ) {
    added = false
    for (const [address, others] of overlapping) {
      const own = answers(address)
      const lacking = others.flatMap(answers).filter((method) => !own.includes(method))
      if (lacking.length === 0) continue
      shadowed.set(address, [...new Set([...(shadowed.get(address) ?? []), ...lacking])])
      added = true
    }
  }
  return shadowed
}

function reject(address: Address, request: FastifyRequest, reply: FastifyReply): CodedError {
  const allow = address.methods.join(', ')
  reply.header('allow', allow)
  // Otherwise a page of another origin sees a network error instead of the 405.
  if (address.anyOrigin) {
    reply
      .header('access-control-allow-origin', '*')
      .header('access-control-expose-headers', 'Allow')
  }
  request.refusedPattern = address.pattern
  return new CodedError('METHOD_NOT_ALLOWED', `This URL supports ${allow}.`)
}

function formOf(segment: string): string {
  if (segment.includes('*')) return '*'
  return segment.includes(':') ? ':' : segment
}

/** Whether some URL matches both patterns. May return true for patterns that do not overlap. Runs for each pair at the start. */
function overlap(some: readonly string[], others: readonly string[]): boolean {
  for (let i = 0; i < some.length; i += 1) {
    const [one, other] = [some[i], others[i]]
    if (one === '*' || other === '*') return true
    if (other === undefined) return false
    if (one !== other && one !== ':' && other !== ':') return false
  }
  return some.length === others.length || others[some.length] === '*'
}
