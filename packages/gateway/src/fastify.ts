import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import type { Decision, Denial, Refused } from './decision/decision.ts'
import type { Outcome } from './decision/outcome.ts'
import { callOnRefused, denialFor, headersWithoutBody } from './denial.ts'
import { Gate } from './gate.ts'
import type { GatewayOptions } from './options.ts'
import { mergeVary } from './request/headers.ts'
import { addForwardedHeaders, NodeRequest, stripIdentityHeaders } from './request/node-request.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The gateway's decision. Only `proof` says whether the caller proved who it is. */
    agent: Decision
  }
}

/** Options of the gateway for Fastify. */
export interface FastifyGatewayOptions extends GatewayOptions {
  /**
   * Answers refused requests with `reply.send` instead of the gateway. The status and headers such as `Vary` and
   * `Cache-Control: no-store` are set already. If it throws or rejects, the gateway answers.
   */
  readonly onRefused?:
    | ((request: FastifyRequest, reply: FastifyReply, refused: Refused) => unknown)
    | undefined
}

/**
 * Admits or refuses agents: `app.register(gateway({ service: 'https://id.example' }))`. The decision is in
 * `request.agent`. It applies to the whole instance that registers it, like a plugin wrapped in fastify-plugin.
 * @throws PolicyError listing every mistake in the options
 */
export function gateway(options: FastifyGatewayOptions): FastifyPluginCallback {
  const gate = new Gate({ ...options, followsIssuers: true, seesBodies: false })
  const { idHeader, accepts, vary } = gate
  const reading = { idHeader, accepts, tlsTerminated: options.tlsTerminated ?? false }
  const proceed = (
    { decision, forwarded }: Outcome,
    asked: NodeRequest,
    request: FastifyRequest,
    reply: FastifyReply,
    next: () => void,
  ) => {
    request.agent = decision
    if (decision.admitted) {
      addForwardedHeaders(request.raw, forwarded)
      return next()
    }
    const denial = denialFor(decision, gate, asked.get('accept'), () => asked.raw())
    const { onRefused } = options
    if (onRefused === undefined) return refuse(reply, denial)
    setHead(reply, denial.status, headersWithoutBody(denial))
    callOnRefused(
      () => onRefused(request, reply, { ...denial, decision }),
      () => (reply.sent ? reply.raw.destroy() : refuse(reply, denial)),
    )
  }
  const onRequest = (request: FastifyRequest, reply: FastifyReply, next: () => void) => {
    stripIdentityHeaders(request.raw, gate.isIdentityHeader)
    const asked = new NodeRequest(request.raw, request.originalUrl, request, reading)
    const outcome = gate.decide(asked)
    if (outcome instanceof Promise) {
      outcome.then((each) => proceed(each, asked, request, reply, next))
    } else proceed(outcome, asked, request, reply, next)
  }

  const plugin: FastifyPluginCallback = (app, _, done) => {
    if (!app.hasRequestDecorator('agent')) app.decorateRequest('agent')
    app.addHook('onRequest', onRequest)
    app.addHook('onClose', () => gate.close())
    app.addHook('onSend', (_request, reply, payload, done) => {
      reply.header('vary', mergeVary(String(reply.getHeader('vary') ?? ''), vary))
      done(null, payload)
    })
    done()
  }
  // As fastify-plugin does: the hooks apply to the instance that registers the plugin, not only to a child of it.
  return Object.assign(plugin, {
    [Symbol.for('skip-override')]: true,
    [Symbol.for('plugin-meta')]: { name: '@countersign/gateway', fastify: '5.x' },
  })
}

function refuse(reply: FastifyReply, { status, headers, body }: Denial): void {
  setHead(reply, status, headers)
  reply.send(body)
}

function setHead(reply: FastifyReply, status: number, headers: Denial['headers']): void {
  reply.code(status)
  for (const [name, value] of headers) {
    const current = name === 'vary' ? reply.getHeader(name) : null
    reply.header(name, current ? mergeVary(String(current), value) : value)
  }
}
