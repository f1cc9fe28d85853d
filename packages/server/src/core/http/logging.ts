import { type FastifyBaseLogger, LogController } from 'fastify'
import type { Logger } from 'pino'

/** Of a request, what may stand in a log: no query string, which can carry codes and tokens. */
const serializers = {
  req: (request: { id: string; method: string; url: string }) => ({
    id: request.id,
    method: request.method,
    path: request.url.split('?')[0],
  }),
}

/** A line a request at level debug, and none otherwise: whoever wants them all has a proxy that writes them. */
export function loggingOf(log: Logger) {
  return {
    loggerInstance: log.child({}, { serializers }) as FastifyBaseLogger,
    // Lines about a request name its id themselves: a logger for each request would cost every one of them.
    childLoggerFactory: (logger: FastifyBaseLogger) => logger,
    logController: new LogController({ disableRequestLogging: !log.isLevelEnabled('debug') }),
  }
}
