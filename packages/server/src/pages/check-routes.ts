import { CodedError } from '@countersign/protocol'
import type { FastifyInstance } from 'fastify'
import { pageHeaders } from '../core/http/page-headers.ts'
import type { App } from '../core/http/server.ts'
import { checkAgent } from './check-agent.ts'
import { agentAnswer, type CheckPageData } from './check-data.ts'
import { checkSignature } from './check-signature.ts'
import type { PageRouteContext } from './page-route-context.ts'

const URL = '/check'

/** /check: looks up an agent and verifies a pasted signature without JavaScript. Nothing is stored. */
export async function checkRoutes(app: App, context: PageRouteContext): Promise<void> {
  const { read, pages } = context
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
      const answer = await checkSignature(context, asked)
      const data = { agent: null, proof: { asked, answer } }
      return reply.headers(headers).type('text/html; charset=utf-8').send(page(data))
    })
  })
}

const FORM = 'application/x-www-form-urlencoded'

/** Accepts only form bodies in this scope. All other routes accept only JSON. */
function parseFormsStrictly(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(FORM, { parseAs: 'buffer' }, async (_request: unknown, body: Buffer) =>
    parseForm(body.toString('latin1')),
  )
  scope.addContentTypeParser('*', async () => {
    throw new CodedError('UNSUPPORTED_MEDIA_TYPE', `The body must be a form: ${FORM}.`)
  })
}

/** @throws CodedError VALIDATION_ERROR if the form is not percent-encoded UTF-8 or repeats a field */
function parseForm(body: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>()
  for (const pair of body.split('&')) {
    if (pair === '') continue
    const at = pair.indexOf('=')
    const name = decode(at < 0 ? pair : pair.slice(0, at))
    if (fields.has(name))
      throw new CodedError('VALIDATION_ERROR', 'The form has a duplicate field.')
    fields.set(name, at < 0 ? '' : decode(pair.slice(at + 1)))
  }
  return fields
}

function decode(text: string): string {
  try {
    if (/[^\u0021-\u007e]/.test(text)) throw new Error('not encoded')
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw new CodedError('VALIDATION_ERROR', 'The form is not percent-encoded UTF-8.')
  }
}
