import type { FastifyReply, FastifyRequest } from 'fastify'
import { libraryPackage } from '../../base/packages.ts'
import { formFields, parseFormsStrictly } from '../../http/form-body.ts'
import { pageHeaders } from '../../http/page-headers.ts'
import type { App } from '../../http/server.ts'
import type { PageRouteContext } from '../visitor.ts'
import { contextFor } from '../visitor.ts'
import { type ConsoleForm, presetsFor, readConsoleForm } from './console-form.ts'
import { formOfLink } from './console-link.ts'

/** The policy, and the headers of a request up to Node's 16 KiB, percent-encoded. */
const FORM_LIMIT = 192 * 1024

/** /console: a policy as text, what a gateway with it decides, and its configuration. The service stores nothing. */
export async function consoleRoutes(app: App, context: PageRouteContext): Promise<void> {
  const { findRoot, verifyApproval, pages } = context
  const read = { ...context.read, findRoot, verifyApproval }
  const headers = { ...pageHeaders(read.site.baseUrl), 'cache-control': 'no-store' }
  const gatewayPackage = libraryPackage('gateway', read.site.baseUrl)
  const show = async (request: FastifyRequest, reply: FastifyReply, form: ConsoleForm) => {
    // Loaded on demand: with the code of the gateway and the SDK, they are 120 modules.
    const { simulate } = await import('./simulate.ts')
    const { FIELDS } = await import('./policy-fields.ts')
    const state = await simulate(read, form)
    const page = await contextFor(context, request, reply)
    const html = pages.make.consolePage(page, {
      ...state,
      presets: presetsFor(state.form),
      fields: FIELDS,
      gatewayPackage,
    })
    return reply.headers(headers).type('text/html; charset=utf-8').send(html)
  }

  await app.register(async (scope) => {
    parseFormsStrictly(scope)

    scope.get('/console', { schema: { hide: true } }, async (request, reply) =>
      show(request, reply, formOfLink(request.query)),
    )

    scope.post(
      '/console',
      { schema: { hide: true }, bodyLimit: FORM_LIMIT },
      async (request, reply) => show(request, reply, readConsoleForm(formFields(request.body))),
    )
  })
}
