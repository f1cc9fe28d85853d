import { METHODS } from 'node:http'
import { CodedError } from '@countersign/protocol'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import findMyWay from 'find-my-way'

declare module 'fastify' {
  interface FastifyRequest {
    /** The pattern of the address, if the request is refused because the address does not have its method. */
    refusedPattern: string | null
  }
}

/** The methods that reach the router. Node reports CONNECT by an event of its own. */
const ALL_METHODS = METHODS.filter((method) => method !== 'CONNECT')

/** An address of the service, and the methods that it has. */
interface Address {
  readonly pattern: string
  readonly segments: readonly string[]
  readonly methods: readonly string[]
}

/** Refuses a method that an address does not have with 405 and `Allow` (RFC 9110 section 15.5.6), where Fastify answers 404. */
export class MethodGuard {
  readonly #methods = new Map<string, Set<string>>()
  #addresses: readonly Address[] = []
  #router: ReturnType<typeof routerOf> | null = null

  /** Records every route that is registered from now on. */
  constructor(app: FastifyInstance) {
    app.decorateRequest('refusedPattern', null)
    for (const method of ALL_METHODS) {
      if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
    }
    app.addHook('onRoute', ({ url, method }) => {
      const known = this.#methods.get(url) ?? new Set()
      for (const each of [method].flat()) known.add(each)
      this.#methods.set(url, known)
    })
  }

  /**
   * Ends the record, and registers the refusals that `refusalOf` would not see, because another pattern that matches the same
   * address has the method: GET of `/api/agents/token`, which has POST alone, would reach `/api/agents/:agent`.
   * Call it after the last route.
   */
  finish(app: FastifyInstance): void {
    this.#addresses = [...this.#methods].map(([pattern, methods]) => ({
      pattern,
      segments: pattern.split('/'),
      methods: [...methods].sort(),
    }))
    for (const [address, method] of shadowedMethods(this.#addresses)) {
      app.route({
        url: address.pattern,
        method,
        exposeHeadRoute: false,
        schema: { hide: true },
        onRequest: (request, reply, done) => done(refuse(address, request, reply)),
        handler: () => undefined,
      })
    }
  }

  /**
   * The refusal of a request that has no route. Sets its `Allow` header.
   * @returns null if there is no such address, whatever the method
   */
  refusalOf(request: FastifyRequest, reply: FastifyReply): CodedError | null {
    // Made on the first use: it would be a good part of the start, and many processes never need it.
    this.#router ??= routerOf(this.#addresses)
    const found = this.#router.find('GET', request.raw.url as string)
    return found === null ? null : refuse(found.store as Address, request, reply)
  }
}

/** Matches the way Fastify's own router does. All addresses are filed under one method. */
function routerOf(addresses: readonly Address[]) {
  // No parameter is too long for it: Node limits the request line.
  const router = findMyWay({ maxParamLength: Number.MAX_SAFE_INTEGER })
  for (const address of addresses) router.on('GET', address.pattern, () => undefined, address)
  return router
}

/** The methods that each address lacks while a pattern beside it, which matches some of the same addresses, answers to them. */
function shadowedMethods(addresses: readonly Address[]): Map<Address, string[]> {
  const variable = addresses.filter(({ segments }) => segments.some(isVariable))
  const shadowed = new Map<Address, string[]>()
  const answers = (address: Address) => [...address.methods, ...(shadowed.get(address) ?? [])]
  // A refusal that is added can itself shadow an address: until none is added.
  for (let added = true; added; ) {
    added = false
    for (const address of addresses) {
      const own = answers(address)
      const beside = variable.filter(({ segments }) => overlap(segments, address.segments))
      const lacking = beside.flatMap(answers).filter((method) => !own.includes(method))
      if (lacking.length === 0) continue
      shadowed.set(address, [...new Set([...(shadowed.get(address) ?? []), ...lacking])])
      added = true
    }
  }
  return shadowed
}

function refuse(address: Address, request: FastifyRequest, reply: FastifyReply): CodedError {
  const allow = address.methods.join(', ')
  reply.header('allow', allow)
  request.refusedPattern = address.pattern
  return new CodedError('METHOD_NOT_ALLOWED', `This address answers to ${allow}.`)
}

/** Whether a segment of a pattern matches more than itself: `:agent`, `*`. */
function isVariable(segment: string): boolean {
  return segment.includes(':') || segment.includes('*')
}

/** Whether an address can match both patterns. Errs on the side of true. */
function overlap(some: readonly string[], others: readonly string[]): boolean {
  for (const [i, one] of some.entries()) {
    const other = others[i]
    if (one.includes('*') || other?.includes('*')) return true
    if (other === undefined) return false
    if (one !== other && !isVariable(one) && !isVariable(other)) return false
  }
  return some.length === others.length || others[some.length] === '*'
}
