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
import { compileSerializerLazily, compileValidatorLazily } from './compile-schemas.ts'
import { answerUnrouted } from './parser-errors.ts'
import { newRequestId } from './request-id.ts'

export type App = ReturnType<typeof bareApp>

/** Answers a request before the router sees it, or returns false and leaves it alone. */
export type AheadOfRouter = (request: IncomingMessage, response: ServerResponse) => boolean

export interface BareAppDeps {
  readonly log: Logger
  /** Addresses and CIDR ranges whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[]
  readonly aheadOfRouter: AheadOfRouter
  /** Answers where the address cannot be decoded, so that there is no route. */
  readonly answerRouterError: (error: unknown, request: FastifyRequest, reply: FastifyReply) => void
  /** Told of the server, and of how to make more like it: one an address, where the host has several. */
  readonly onServer: (server: Server, another: () => Server) => void
}

const KIB_16 = 16 * 1024

const SERVER_OPTIONS = {
  maxHeaderSize: KIB_16,
  requireHostHeader: false,
  requestTimeout: 30_000,
  keepAliveTimeout: 65_000,
}

/** Fastify with every default replaced that answers in another shape than ours, or trusts too much. */
export function bareApp(deps: BareAppDeps) {
  const { log, trustedProxies, aheadOfRouter, answerRouterError, onServer } = deps
  const app = fastify({
    ...loggingOf(log),
    serverFactory: (handler) => {
      const make = () => {
        const server = createServer(SERVER_OPTIONS, (request, response) => {
          if (!aheadOfRouter(request, response)) handler(request, response)
        })
        answerUnrouted(server)
        return server
      }
      const server = make()
      onServer(server, make)
      return server
    },
    bodyLimit: KIB_16,
    return503OnClosing: false,
    requestIdHeader: false,
    genReqId: newRequestId,
    trustProxy: trustedProxies.length > 0 ? [...trustedProxies] : false,
    // answerUnrouted stands on every server; Fastify would look after one.
    clientErrorHandler: () => undefined,
    frameworkErrors: answerRouterError,
    routerOptions: { maxParamLength: KIB_16 },
  }).withTypeProvider<TypeBoxTypeProvider>()
  app.setValidatorCompiler(compileValidatorLazily)
  app.setSerializerCompiler(compileSerializerLazily)
  // Fastify closes the connection where a body is refused, before it has come. Whoever is still sending finds that, and not the
  // refusal: a proxy makes a 502 of it. What comes is thrown away instead, for as long as a request may take.
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (reply.statusCode === 413) reply.removeHeader('connection')
    done()
  })
  return app
}

/** Of a request, what may stand in a log: no query string, which can carry codes and tokens. */
const serializers = {
  req: (request: { id: string; method: string; url: string }) => ({
    id: request.id,
    method: request.method,
    path: request.url.split('?')[0],
  }),
}

/** A line a request at level debug, and none otherwise: whoever wants them all has a proxy that writes them. */
function loggingOf(log: Logger) {
  return {
    loggerInstance: log.child({}, { serializers }) as FastifyBaseLogger,
    // Lines about a request name its id themselves: a logger for each request would cost every one of them.
    childLoggerFactory: (logger: FastifyBaseLogger) => logger,
    logController: new LogController({ disableRequestLogging: !log.isLevelEnabled('debug') }),
  }
}
