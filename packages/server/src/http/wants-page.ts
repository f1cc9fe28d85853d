import { errorSchema } from '@countersign/protocol'
import type { FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'

const API_PATHS = /^\/(api|scim|log|webhooks|healthz|readyz|openapi\.json)(?![\w-])/

/** API URLs are never answered with an HTML page. */
function isApi(url: string): boolean {
  return API_PATHS.test(url)
}

/** Whether an error should be an HTML page: for navigation in a browser. Clients that accept anything (`*\/*`) get JSON. */
export function wantsPage({ url, headers }: Pick<FastifyRequest, 'url' | 'headers'>): boolean {
  if (headers.accept === undefined || isApi(url)) return false
  const negotiator = new Negotiator({ headers: { accept: headers.accept } })
  return negotiator.mediaType(['application/json', 'text/html']) === 'text/html'
}

/** The error responses for a route's schema: the JSON envelope and, outside the API, the error page. */
export function errorResponsesAt(url: string) {
  const schema = isApi(url) ? errorSchema() : jsonOrPageSchema()
  return { '4xx': schema, '5xx': schema }
}

function jsonOrPageSchema() {
  return {
    description: 'An error',
    content: {
      'application/json': { schema: errorSchema() },
      'text/html': { schema: { type: 'string' } },
    },
  }
}
