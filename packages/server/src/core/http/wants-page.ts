import { errorSchema } from '@countersign/protocol'
import type { FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'

/** What only programs ask for. */
const FOR_PROGRAMS = /^\/(api|webhooks|healthz|readyz|openapi\.json)(?![\w-])/

/** Whether only programs ask for an address: it is never answered by a page. */
function isForPrograms(url: string): boolean {
  return FOR_PROGRAMS.test(url)
}

/** Whether whoever asks reads pages: a browser on its way to an address. Who takes anything (`*\/*`) gets JSON. */
export function wantsPage({ url, headers }: Pick<FastifyRequest, 'url' | 'headers'>): boolean {
  if (headers.accept === undefined || isForPrograms(url)) return false
  const negotiator = new Negotiator({ headers: { accept: headers.accept } })
  return negotiator.mediaType(['application/json', 'text/html']) === 'text/html'
}

/** What a route's schema says of its refusals: the envelope, and for people who read pages a page of the same. */
export function refusalsAt(url: string) {
  const refusal = isForPrograms(url) ? errorSchema() : asPageToo()
  return { '4xx': refusal, '5xx': refusal }
}

function asPageToo() {
  return {
    description: 'A refusal',
    content: {
      'application/json': { schema: errorSchema() },
      'text/html': { schema: { type: 'string' } },
    },
  }
}
