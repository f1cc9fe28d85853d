import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import type { Decision } from './decision/decision.ts'
import type { Ruling } from './decision/ruling.ts'
import { denialOf, variesBy, withVary } from './denial.ts'
import { Gate } from './gate.ts'
import type { GatewayOptions } from './options.ts'
import { fieldOf, forwardToNode, stripNodeHeaders } from './request/node-headers.ts'
import { isPreflight } from './request/preflight.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** What the gateway has decided. Mind `proofOfPossession`. */
    agent: Decision
  }
}

/**
 * Lets agents in, or not: `app.register(gateway({ service: 'https://id.example' }))`. What was decided is in
 * `request.agent`. It is for the whole instance that it is registered with, as a plugin of fastify-plugin is.
 * @throws PolicyError with every mistake in the options at once
 */
export function gateway(options: GatewayOptions): FastifyPluginCallback {
  const gate = new Gate(options)
  const sessions = options.sessions !== undefined
  const varies = variesBy(gate.naming, sessions)

  const onRequest = (request: FastifyRequest, reply: FastifyReply, next: () => void) => {
    const { raw } = request
    stripNodeHeaders(raw, gate.isIdentityHeader)
    const proceed = ({ decision, forwarded }: Ruling) => {
      request.agent = decision
      const denial = denialOf(decision, gate.naming, fieldOf(raw, 'accept'), sessions)
      if (denial === null) {
        forwardToNode(raw, forwarded)
        return next()
      }
      for (const [name, value] of denial.headers) {
        const before = name === 'vary' ? reply.getHeader(name) : null
        reply.header(name, before ? withVary(String(before), value) : value)
      }
      reply.code(denial.status).send(denial.body)
    }
    const ruling = gate.decide({
      method: request.method,
      target: request.originalUrl,
      identification: fieldOf(raw, gate.idHeader),
      authorization: sessions ? fieldOf(raw, 'authorization') : null,
      address: () => request.ip ?? null,
      preflight: isPreflight(request.method, (name) => fieldOf(raw, name)),
    })
    if (ruling instanceof Promise) ruling.then(proceed)
    else proceed(ruling)
  }

  const plugin: FastifyPluginCallback = (app, _, done) => {
    if (!app.hasRequestDecorator('agent')) app.decorateRequest('agent')
    app.addHook('onRequest', onRequest)
    app.addHook('onSend', (_request, reply, payload, sent) => {
      reply.header('vary', withVary(String(reply.getHeader('vary') ?? ''), varies))
      sent(null, payload)
    })
    done()
  }
  // What fastify-plugin does: hooks are for the instance that registers the plugin, not for a child of it.
  return Object.assign(plugin, {
    [Symbol.for('skip-override')]: true,
    [Symbol.for('plugin-meta')]: { name: '@countersign/gateway', fastify: '5.x' },
  })
}
