import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import {
  type FastifyBaseLogger,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  LogController,
} from 'fastify'
import type { Logger } from 'pino'
import { beginRequest } from '../base/loop-turn.ts'
import { compileSerializerLazily, compileValidatorLazily } from './compile-schemas.ts'
import { countUnanswered, isOneTooMany } from './connection-limit.ts'
import { endIfFaulty, isAfterEnd } from './framing.ts'
import { answerUnrouted } from './parser-errors.ts'
import { newRequestId } from './request-id.ts'

export type App = ReturnType<typeof bareApp>

/** Answers a request before the router, or returns false without touching it. */
export type AheadOfRouter = (request: IncomingMessage, response: ServerResponse) => boolean

export interface BareAppDeps {
  readonly log: Logger
  /** Addresses and CIDR ranges whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly string[]
  readonly aheadOfRouter: AheadOfRouter
  /** Answers errors of the router, such as a URL with invalid percent-encoding. */
  readonly answerRouterError: (error: unknown, request: FastifyRequest, reply: FastifyReply) => void
  /** Called with each server of the app before it listens. */
  readonly limitConnections: (server: Server) => void
  /** Called with the app's server, and a function that creates another one for a further address of the host. */
  readonly onServer: (server: Server, createAnother: () => Server) => void
}

const KIB_16 = 16 * 1024

const SERVER_OPTIONS = {
  maxHeaderSize: KIB_16,
  requireHostHeader: false,
  requestTimeout: 30_000,
  keepAliveTimeout: 65_000,
}

/** Creates a Fastify app without routes, with those defaults replaced that bypass the error envelope or trust too much. */
export function bareApp(deps: BareAppDeps) {
  const { log, trustedProxies, aheadOfRouter, answerRouterError, limitConnections, onServer } = deps
  const app = fastify({
    ...loggingOf(log),
    serverFactory: (handler) => {
      const create = () => {
        const server = createServer(SERVER_OPTIONS, (request, response) => {
          if (isOneTooMany(request)) return
          beginRequest()
          const isAnswered = isAfterEnd(request) || aheadOfRouter(request, response)
          countUnanswered(request, response)
          if (isAnswered) return
          endIfFaulty(request, response)
          handler(request, response)
        })
        answerUnrouted(server)
        limitConnections(server)
        return server
      }
      const server = create()
      onServer(server, create)
      return server
    },
    bodyLimit: KIB_16,
    return503OnClosing: false,
    requestIdHeader: false,
    genReqId: newRequestId,
    trustProxy: trustedProxies.length > 0 ? [...trustedProxies] : false,
    // answerUnrouted handles these errors on every server; Fastify's handler covers only its own.
    clientErrorHandler: () => undefined,
    frameworkErrors: answerRouterError,
    routerOptions: { maxParamLength: KIB_16 },
  }).withTypeProvider<TypeBoxTypeProvider>()
  app.setValidatorCompiler(compileValidatorLazily)
  app.setSerializerCompiler(compileSerializerLazily)
  // Fastify closes the connection when it rejects a body early. A client that is still sending would see a reset connection
  // instead of the 413, and a proxy would answer 502. Keep it open and discard the rest, until the request times out.
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (reply.statusCode === 413) reply.removeHeader('connection')
    done()
  })
  return app
}

/** Logs requests without the query string, which can contain codes and tokens. */
const serializers = {
  req: (request: { id: string; method: string; url: string }) => ({
    id: request.id,
    method: request.method,
    path: request.url.split('?')[0],
  }),
}

/** Logs requests at level debug only. In production the proxy's access log has them. */
function loggingOf(log: Logger) {
  return {
    loggerInstance: log.child({}, { serializers }) as FastifyBaseLogger,
    // No child logger for each request, which would slow every request down: log calls pass the request id.
    childLoggerFactory: (logger: FastifyBaseLogger) => logger,
    logController: new LogController({ disableRequestLogging: !log.isLevelEnabled('debug') }),
  }
}
