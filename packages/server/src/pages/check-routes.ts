import { pageHeaders } from '../core/http/page-headers.ts'
import type { App } from '../core/http/server.ts'
import { checkAgent } from './check-agent.ts'
import { agentAnswer, type CheckPageData } from './check-data.ts'
import { checkSignature } from './check-signature.ts'
import { parseFormsStrictly } from './form-body.ts'
import type { PageSide } from './page-side.ts'

const URL = '/check'

/** Checking an agent, or a signature, with nothing but a browser; no script is needed, and nothing is kept. */
export async function checkRoutes(app: App, side: PageSide): Promise<void> {
  const { read, pages } = side
  const headers = { ...pageHeaders(read.site.baseUrl), 'cache-control': 'no-store' }
  const page = (data: CheckPageData) => pages.make.checkPage(pages.context, data)

  await app.register(async (scope) => {
    parseFormsStrictly(scope)
    scope.get(URL, { schema: { hide: true } }, async (request, reply) => {
      const { agent } = request.query as { agent?: unknown }
      const asked = typeof agent === 'string' && agent.trim() !== '' ? agent : null
      const answer = asked === null ? null : agentAnswer(read, await checkAgent(read, asked))
      const data = {
        agent: asked === null || answer === null ? null : { asked, answer },
        proof: null,
      }
      return reply.headers(headers).type('text/html; charset=utf-8').send(page(data))
    })

    scope.post(URL, { schema: { hide: true } }, async (request, reply) => {
      const form = (request.body ?? new Map()) as ReadonlyMap<string, string>
      const field = (name: string) => form.get(name) ?? ''
      const asked = {
        agent: field('agent'),
        challenge: field('challenge'),
        signature: field('signature'),
      }
      const answer = await checkSignature(side, asked)
      const data = { agent: null, proof: { asked, answer } }
      return reply.headers(headers).type('text/html; charset=utf-8').send(page(data))
    })
  })
}
