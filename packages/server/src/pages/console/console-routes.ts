import type { FastifyReply } from 'fastify'
import { libraryPackage } from '../../config/packages.ts'
import { formFields, parseFormsStrictly } from '../../core/http/form-body.ts'
import { pageHeaders } from '../../core/http/page-headers.ts'
import type { App } from '../../core/http/server.ts'
import type { PageRouteContext } from '../page-route-context.ts'
import { contextFor } from '../visitor.ts'
import { EMPTY_FORM, readConsoleForm } from './console-form.ts'
import { simulate } from './simulate.ts'

/** The policy, and the headers of a request up to Node's 16 KiB, percent-encoded. */
const FORM_LIMIT = 64 * 1024

/** /console: a policy by form, what a gateway with it decides, and its configuration. The service stores nothing. */
export async function consoleRoutes(app: App, context: PageRouteContext): Promise<void> {
  const { read, pages } = context
  const headers = { ...pageHeaders(read.site.baseUrl), 'cache-control': 'no-store' }
  const gatewayPackage = libraryPackage('gateway', read.site.baseUrl)
  const send = (reply: FastifyReply, html: string) =>
    reply.headers(headers).type('text/html; charset=utf-8').send(html)

  await app.register(async (scope) => {
    parseFormsStrictly(scope)

    scope.get('/console', { schema: { hide: true } }, async (request, reply) => {
      const data = { form: EMPTY_FORM, answer: null, gatewayPackage }
      return send(reply, pages.make.consolePage(await contextFor(context, request, reply), data))
    })

    scope.post(
      '/console',
      { schema: { hide: true }, bodyLimit: FORM_LIMIT },
      async (request, reply) => {
        const form = readConsoleForm(formFields(request.body))
        const data = { form, answer: await simulate(read, form), gatewayPackage }
        return send(reply, pages.make.consolePage(await contextFor(context, request, reply), data))
      },
    )
  })
}
