import { METHODS } from 'node:http'
import { CodedError } from '@countersign/protocol'
import type { FastifyInstance } from 'fastify'

/** CONNECT never reaches a route. */
const ALL_METHODS = METHODS.filter((method) => method !== 'CONNECT')

/** Remembers which methods each address has, so that the others can be refused with 405 instead of 404. */
export class MethodGuard {
  readonly #methods = new Map<string, Set<string>>()

  constructor(app: FastifyInstance) {
    for (const method of ALL_METHODS) {
      if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
    }
    app.addHook('onRoute', ({ url, method }) => {
      const known = this.#methods.get(url) ?? new Set()
      for (const each of [method].flat()) known.add(each)
      this.#methods.set(url, known)
    })
  }

  /** Refuses every other method of every address known by now. Call it after the last route of ours. */
  refuseOthers(app: FastifyInstance): void {
    for (const [url, known] of [...this.#methods]) {
      const allow = [...known].sort().join(', ')
      app.route({
        url,
        method: ALL_METHODS.filter((method) => !known.has(method)),
        exposeHeadRoute: false,
        schema: { hide: true },
        onRequest: (_request, reply, done) => {
          reply.header('allow', allow)
          done(new CodedError('METHOD_NOT_ALLOWED', `This address answers to ${allow}.`))
        },
        handler: () => undefined,
      })
    }
  }
}
