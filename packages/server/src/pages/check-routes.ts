import cookie from '@fastify/cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { didOfAgent } from '../base/site.ts'
import { Cookies } from '../http/cookies.ts'
import { formFields, parseFormsStrictly } from '../http/form-body.ts'
import { pageHeaders } from '../http/page-headers.ts'
import type { App } from '../http/server.ts'
import { checkAgent } from './check-agent.ts'
import {
  CHECK_LIFETIME_SECONDS,
  challengeFor,
  type UsedChallenges,
  usedChallenges,
  withUsed,
} from './check-challenge.ts'
import { agentAnswer, type CheckPageData } from './check-data.ts'
import { checkSignature } from './check-signature.ts'
import type { PageRouteContext } from './visitor.ts'
import { contextFor } from './visitor.ts'

/** /check: look up an agent, have it prove its key. The service stores nothing. */
export async function checkRoutes(app: App, context: PageRouteContext): Promise<void> {
  const { read, pages } = context
  const headers = { ...pageHeaders(read.site.baseUrl), 'cache-control': 'no-store' }
  const cookies = new Cookies(read.site.baseUrl)
  const send = (reply: FastifyReply, html: string) =>
    reply.headers(headers).type('text/html; charset=utf-8').send(html)
  const usedBy = (request: FastifyRequest) => usedChallenges(cookies.read(request, 'checked'))

  await app.register(async (scope) => {
    await scope.register(cookie)
    parseFormsStrictly(scope)

    scope.get('/check', { schema: { hide: true } }, async (request, reply) => {
      const { agent, challenge } = request.query as { agent?: unknown; challenge?: unknown }
      const asked = typeof agent === 'string' && agent.trim() !== '' ? agent : null
      const linked = typeof challenge === 'string' && challenge !== '' ? challenge : null
      const data = await dataFor(context, asked, linked, usedBy(request))
      return send(reply, pages.make.checkPage(await contextFor(context, request, reply), data))
    })

    scope.post('/check', { schema: { hide: true } }, async (request, reply) => {
      const field = formFields(request.body)
      const asked = {
        agent: field('agent'),
        challenge: field('challenge'),
        signature: field('signature'),
      }
      const used = usedBy(request)
      const answer = await checkSignature(context, asked, used)
      if (answer.kind === 'valid' && !answer.isOwnText) {
        const value = withUsed(used, asked.challenge.trim())
        cookies.write(reply, 'checked', value, CHECK_LIFETIME_SECONDS)
      }
      const linked = asked.challenge === '' ? null : asked.challenge.trim()
      const found = await dataFor(context, asked.agent, linked, used)
      const data = { ...found, proof: { asked, answer } }
      return send(reply, pages.make.checkPage(await contextFor(context, request, reply), data))
    })
  })
}

/** The first two steps: the agent, and a challenge for it. */
async function dataFor(
  { read, challenges }: PageRouteContext,
  asked: string | null,
  linked: string | null,
  used: UsedChallenges,
): Promise<CheckPageData> {
  if (asked === null) return { agent: null, challenge: null, proof: null }
  const check = await checkAgent(read, asked)
  const challenge =
    check.kind === 'found'
      ? challengeFor(challenges, didOfAgent(read.site, check.view.agent.tail), linked, used)
      : null
  return { agent: { asked, answer: await agentAnswer(read, check) }, challenge, proof: null }
}
