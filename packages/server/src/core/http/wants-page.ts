import type { FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'

/** What only programs ask for. */
const FOR_PROGRAMS = /^\/(api|webhooks|healthz|readyz|openapi\.json)(?![\w-])/

/** Whether only programs ask for an address: it is never answered by a page. */
export function isForPrograms(url: string): boolean {
  return FOR_PROGRAMS.test(url)
}

/** Whether whoever asks reads pages: a browser on its way to an address. Who takes anything (`*\/*`) gets JSON. */
export function wantsPage({ url, headers }: Pick<FastifyRequest, 'url' | 'headers'>): boolean {
  if (headers.accept === undefined || isForPrograms(url)) return false
  const negotiator = new Negotiator({ headers: { accept: headers.accept } })
  return negotiator.mediaType(['application/json', 'text/html']) === 'text/html'
}
