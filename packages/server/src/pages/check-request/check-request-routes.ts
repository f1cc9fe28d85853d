import type { FastifyReply, FastifyRequest } from 'fastify'
import { formFields, parseFormsStrictly } from '../../http/form-body.ts'
import { pageHeaders } from '../../http/page-headers.ts'
import type { App } from '../../http/server.ts'
import { contextFor, type PageRouteContext } from '../visitor.ts'
import { BREAKS } from './break-request.ts'
import { inspectRequest } from './inspect-request.ts'
import { formOfQuery, type RequestForm, readRequestForm } from './request-form.ts'
import { sampleRequest } from './sample-request.ts'

/** A HAR entry with the response that belongs to it, percent-encoded. */
const FORM_LIMIT = 384 * 1024

/** /check/request: a signed request with each check of its signature. A sample, a link or what was pasted. The service stores nothing. */
export async function checkRequestRoutes(app: App, context: PageRouteContext): Promise<void> {
  const { read, pages, inspect } = context
  const headers = { ...pageHeaders(read.site.baseUrl), 'cache-control': 'no-store' }
  const show = async (request: FastifyRequest, reply: FastifyReply, form: RequestForm) => {
    const inspection = await inspectRequest(inspect, form, request.ip)
    const page = await contextFor(context, request, reply)
    const html = pages.make.checkRequestPage(page, { form, inspection, breaks: BREAKS })
    return reply.headers(headers).type('text/html; charset=utf-8').send(html)
  }

  await app.register(async (scope) => {
    parseFormsStrictly(scope)

    scope.get('/check/request', { schema: { hide: true } }, async (request, reply) => {
      const form = formOfQuery(request.query)
      if (form.request !== '') return show(request, reply, form)
      return show(request, reply, { ...form, request: await sampleRequest(read.site, read.now()) })
    })

    scope.post(
      '/check/request',
      { schema: { hide: true }, bodyLimit: FORM_LIMIT },
      async (request, reply) => show(request, reply, readRequestForm(formFields(request.body))),
    )
  })
}
