import type { FastifyReply, FastifyRequest } from 'fastify'
import { libraryPackage } from '../../base/packages.ts'
import { formFields, parseFormsStrictly } from '../../http/form-body.ts'
import { pageHeaders } from '../../http/page-headers.ts'
import type { App } from '../../http/server.ts'
import type { PageRouteContext } from '../visitor.ts'
import { contextFor } from '../visitor.ts'
import { type ConsoleForm, EMPTY_FORM, fieldOf, readConsoleForm } from './console-form.ts'
import { formOfLink } from './console-link.ts'
import { editedForm } from './edit-lists.ts'
import { loadPolicy } from './load-policy.ts'
import { type ConsoleState, policyMistakes, simulate } from './simulate.ts'

/** The policy and a pasted one, and the headers of a request up to Node's 16 KiB, percent-encoded. */
const FORM_LIMIT = 192 * 1024

/** /console: a policy by form, what a gateway with it decides, and its configuration. The service stores nothing. */
export async function consoleRoutes(app: App, context: PageRouteContext): Promise<void> {
  const { read, pages } = context
  const headers = { ...pageHeaders(read.site.baseUrl), 'cache-control': 'no-store' }
  const gatewayPackage = libraryPackage('gateway', read.site.baseUrl)
  const send = async (request: FastifyRequest, reply: FastifyReply, state: ConsoleState) => {
    const page = await contextFor(context, request, reply)
    const html = pages.make.consolePage(page, { ...state, gatewayPackage })
    return reply.headers(headers).type('text/html; charset=utf-8').send(html)
  }
  const load = async (form: ConsoleForm, json: string): Promise<ConsoleState> => {
    const loaded = loadPolicy(form, json, (policy) => policyMistakes(read, policy))
    const answer = await simulate(read, loaded.form)
    // Part of a policy is not what was pasted.
    const isPart = loaded.problems.length > 0 && answer.kind === 'valid'
    return { ...loaded, answer: isPart ? null : answer }
  }

  await app.register(async (scope) => {
    parseFormsStrictly(scope)

    scope.get('/console', { schema: { hide: true } }, async (request, reply) => {
      const linked = formOfLink(request.query)
      const state =
        linked === null
          ? { form: EMPTY_FORM, answer: null, problems: [] }
          : await load(linked.form, linked.policy)
      return send(request, reply, state)
    })

    scope.post(
      '/console',
      { schema: { hide: true }, bodyLimit: FORM_LIMIT },
      async (request, reply) => {
        const field = formFields(request.body)
        const form = readConsoleForm(field)
        if (field('edit') === 'load')
          return send(request, reply, await load(form, fieldOf(form, 'json')))
        const edited = editedForm(form, field('edit'))
        const answer = edited === null ? await simulate(read, form) : null
        return send(request, reply, { form: edited ?? form, answer, problems: [] })
      },
    )
  })
}
