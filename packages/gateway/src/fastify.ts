import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import type { Decision, Denial, Refused } from './decision/decision.ts'
import type { Outcome } from './decision/outcome.ts'
import { callOnRefused, denialFor, headersWithoutBody } from './denial.ts'
import { Gate } from './gate.ts'
import type { GatewayOptions } from './options.ts'
import { isPreflight, isSigned, mergeVary } from './request/headers.ts'
import {
  addForwardedHeaders,
  headerOf,
  rawNodeRequest,
  stripIdentityHeaders,
} from './request/node-request.ts'

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
  const { vary } = gate
  const { tlsTerminated = false } = options

  const onRequest = (request: FastifyRequest, reply: FastifyReply, next: () => void) => {
    const node = request.raw
    const raw = () =>
      rawNodeRequest(node, request.originalUrl, tlsTerminated ? 'https' : request.protocol)
    stripIdentityHeaders(node, gate.isIdentityHeader)
    const proceed = ({ decision, forwarded }: Outcome) => {
      request.agent = decision
      const denial = decision.admitted
        ? null
        : denialFor(decision, gate, headerOf(node, 'accept'), raw)
      if (denial === null) {
        addForwardedHeaders(node, forwarded)
        return next()
      }
      const { onRefused } = options
      if (onRefused === undefined) return refuse(reply, denial)
      setHead(reply, denial.status, headersWithoutBody(denial))
      callOnRefused(
        () => onRefused(request, reply, { ...denial, decision }),
        () => (reply.sent ? reply.raw.destroy() : refuse(reply, denial)),
      )
    }
    const outcome = gate.decide({
      method: request.method,
      target: request.originalUrl,
      identification: headerOf(node, gate.idHeader),
      authorization: gate.accepts.sessions ? headerOf(node, 'authorization') : null,
      address: () => request.ip ?? null,
      preflight: isPreflight(request.method, (name) => headerOf(node, name)),
      signed: isSigned((name) => headerOf(node, name)),
      raw,
      readBody: null,
    })
    if (outcome instanceof Promise) outcome.then(proceed)
    else proceed(outcome)
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
