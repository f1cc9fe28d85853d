import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import express from 'express'
import fastify, { type FastifyReply } from 'fastify'
import { Hono } from 'hono'
import type { Cleanup } from '../../../../test/support/service.ts'
import type { Decision, Refused } from '../../src/decision/decision.ts'
import { gateway as forExpress } from '../../src/express.ts'
import { gateway as forFastify } from '../../src/fastify.ts'
import { agentOf, gateway as forFetch } from '../../src/fetch.ts'
import { gateway as forHono } from '../../src/hono.ts'
import type { GatewayOptions } from '../../src/options.ts'
import { pairsOf } from './echo-site.ts'

type Test = Cleanup

/** What an application sees of a request, by every way that its framework has to look at it. */
export interface Seen {
  readonly agent: Decision
  readonly fields: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

/** An application with one line of gateway, on a real server. @returns its address */
export type StartApp = (
  t: Test,
  options: GatewayOptions,
  /** Answers refused requests with this status and text, in `onRefused`. Null: it throws. */
  refusal?: OwnRefusal | null,
) => Promise<string>

export interface OwnRefusal {
  readonly status: number
  readonly text: (refused: Refused) => string
}

/** The text of a test's own refusal. @throws Error if there is none */
function textFor(refusal: OwnRefusal | null, refused: Refused): string {
  if (refusal === null) throw new Error('onRefused fails')
  return refusal.text(refused)
}

/** `/vary` has a Vary of its own, `/fail` throws; everything else answers with what it has seen. */
const VARY = 'Accept-Language'

const withExpress: StartApp = async (t, options, refusal) => {
  const app = express()
  const onRefused = (_: IncomingMessage, response: ServerResponse, refused: Refused) => {
    const text = textFor(refusal as OwnRefusal | null, refused)
    response.statusCode = refusal?.status ?? 0
    response.end(text)
  }
  app.use(forExpress({ ...options, ...(refusal !== undefined && { onRefused }) }))
  app.use(async (request: IncomingMessage & { agent: Decision }, response: ServerResponse) => {
    if (request.url === '/fail') throw new Error('the application’s own')
    if (request.url === '/vary') response.appendHeader('vary', VARY)
    const { agent, rawHeaders, headers, headersDistinct } = request
    const fields = [
      ...pairsOf(rawHeaders),
      ...Object.entries(headers as Record<string, string>),
      ...Object.entries(headersDistinct).flatMap(([name, values = []]) =>
        values.map((value): [string, string] => [name, value]),
      ),
    ]
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ agent, fields, body: await textOf(request) }))
  })
  // Express writes errors to standard error otherwise.
  app.use((_error: unknown, _request: unknown, response: ServerResponse, _next: unknown) => {
    response.statusCode = 500
    response.end('failed')
  })
  const server = app.listen(0, '127.0.0.1') as Server
  await new Promise((resolve) => server.once('listening', resolve))
  return ending(t, server)
}

const withFastify: StartApp = async (t, options, refusal) => {
  const app = fastify({ forceCloseConnections: true })
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  const onRefused = async (_: unknown, reply: FastifyReply, refused: Refused) => {
    const text = textFor(refusal as OwnRefusal | null, refused)
    reply.code(refusal?.status ?? 0).send(text)
  }
  app.register(forFastify({ ...options, ...(refusal !== undefined && { onRefused }) }))
  app.all('/*', async (request, reply) => {
    if (request.url === '/fail') throw new Error('the application’s own')
    if (request.url === '/vary') reply.header('vary', VARY)
    const { agent, headers, raw } = request
    const fields = [
      ...Object.entries(headers as Record<string, string>),
      ...pairsOf(raw.rawHeaders),
    ]
    return { agent, fields, body: (request.body as string | undefined) ?? '' }
  })
  t.after(() => app.close())
  return app.listen({ port: 0, host: '127.0.0.1' })
}

const withHono: StartApp = async (t, options, refusal) => {
  const app = new Hono()
  const onRefused = (_: unknown, refused: Refused) => responseFor(refusal as OwnRefusal, refused)
  app.use(forHono({ ...options, ...(refusal !== undefined && { onRefused }) }))
  app.all('*', async (c) => {
    if (c.req.path === '/fail') throw new Error('the application’s own')
    if (c.req.path === '/vary') c.header('vary', VARY)
    const fields = [...Object.entries(c.req.header()), ...c.req.raw.headers]
    return c.json({ agent: c.get('agent'), fields, body: await c.req.text() })
  })
  app.onError((_error, c) => c.text('failed', 500))
  return served(t, app.fetch)
}

const withFetch: StartApp = async (t, options, refusal) => {
  const onRefused = (_: unknown, refused: Refused) => responseFor(refusal as OwnRefusal, refused)
  const own = refusal !== undefined && { onRefused }
  const handler = forFetch({ ...options, ...own })(async (request: Request) => {
    const { pathname } = new URL(request.url)
    if (pathname === '/fail') throw new Error('the application’s own')
    const vary: Record<string, string> = pathname === '/vary' ? { vary: VARY } : {}
    const seen = {
      agent: agentOf(request),
      fields: [...request.headers],
      body: await request.text(),
    }
    return Response.json(seen, { headers: vary })
  })
  return served(t, (request) =>
    handler(request).catch(() => new Response('failed', { status: 500 })),
  )
}

const responseFor = (refusal: OwnRefusal | null, refused: Refused) =>
  new Response(textFor(refusal, refused), { status: refusal?.status ?? 0 })

export const FRAMEWORKS: Readonly<Record<string, StartApp>> = {
  Express: withExpress,
  Fastify: withFastify,
  Hono: withHono,
  fetch: withFetch,
}

async function served(
  t: Test,
  fetch: (request: Request) => Response | Promise<Response>,
): Promise<string> {
  const server = await new Promise<Server>((resolve) => {
    const made = serve({ fetch, port: 0, hostname: '127.0.0.1' }, () => resolve(made as Server))
  })
  return ending(t, server)
}

function ending(t: Test, server: Server): string {
  t.after(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
