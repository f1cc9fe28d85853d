import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { serve } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { gateway as forExpress } from '../src/express.ts'
import { gateway as forFastify } from '../src/fastify.ts'
import { gateway as forFetch } from '../src/fetch.ts'
import { gateway as forHono } from '../src/hono.ts'
import type { GatewayOptions } from '../src/options.ts'
import { fuzzOptions, fuzzPaths, HANDLERS, idOf, POLICIES } from './support/path-fuzz.ts'

// No request reaches a handler that the policy denies for the handler's path, however the request writes that path.

type StartApp = (t: TestContext, options: GatewayOptions) => Promise<string>

const encoded = (path: string) => encodeURI(path)

const withExpress: StartApp = async (t, options) => {
  const app = express()
  app.use(forExpress(options))
  for (const handler of HANDLERS) {
    const answer = (_request: IncomingMessage, response: ServerResponse) => {
      response.setHeader('x-handler', idOf(handler))
      response.end()
    }
    // Express matches encoded paths. The signs have a meaning in its patterns.
    for (const path of new Set([handler.path, encoded(handler.path)])) {
      app.all(path.replace(/[:*(){}[\]?+!\\]/g, '\\$&'), answer)
    }
    // Another router: by prefix.
    app.use(encoded(handler.path).replace(/[:*(){}[\]?+!\\]/g, '\\$&'), answer)
  }
  app.use((_request: IncomingMessage, response: ServerResponse) => response.end())
  app.use((_error: unknown, _request: unknown, response: ServerResponse, _next: unknown) =>
    response.end(),
  )
  const server = app.listen(0, '127.0.0.1') as Server
  await new Promise((resolve) => server.once('listening', resolve))
  return addressOf(t, server)
}

const withFastify: StartApp = async (t, options) => {
  const app = fastify({
    forceCloseConnections: true,
    routerOptions: {
      ignoreDuplicateSlashes: true,
      ignoreTrailingSlash: true,
      caseSensitive: false,
    },
  })
  app.register(forFastify(options))
  for (const handler of HANDLERS) {
    app.all(handler.path.replaceAll(':', '::'), async (_request, reply) => {
      reply.header('x-handler', idOf(handler))
      return ''
    })
  }
  app.all('/*', async () => '')
  t.after(() => app.close())
  return app.listen({ port: 0, host: '127.0.0.1' })
}

const withHono: StartApp = async (t, options) => {
  const app = new Hono()
  app.use(forHono(options))
  for (const handler of HANDLERS) {
    app.all(handler.path, (c) => c.body('', 200, { 'x-handler': idOf(handler) }))
  }
  app.all('*', (c) => c.body(''))
  return served(t, app.fetch)
}

/** A handler that compares decoded paths, resolved and as they were sent. */
const withFetch: StartApp = async (t, options) =>
  served(
    t,
    forFetch(options)((request: Request) => {
      const { pathname } = new URL(request.url)
      const sent = request.url.slice(request.url.indexOf('/', 8)).split('?', 1)
      const paths = [pathname, ...sent, decoded(pathname)]
      const handler = HANDLERS.find(({ path }) => paths.includes(path))
      return new Response('', handler && { headers: { 'x-handler': idOf(handler) } })
    }),
  )

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

async function served(t: TestContext, fetch: (request: Request) => Response | Promise<Response>) {
  const server = await new Promise<Server>((resolve) => {
    const made = serve({ fetch, port: 0, hostname: '127.0.0.1' }, () => resolve(made as Server))
  })
  return addressOf(t, server)
}

function addressOf(t: TestContext, server: Server): string {
  t.after(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
}

const APPS = { Express: withExpress, Fastify: withFastify, Hono: withHono, fetch: withFetch }

for (const [name, start] of Object.entries(APPS)) {
  for (const [which, policy] of Object.entries(POLICIES)) {
    test(`${name}: no way of writing a path reaches a closed handler (${which})`, async (t) => {
      const url = await start(t, { service: 'http://127.0.0.1:1', policy })
      await fuzzPaths(url, fuzzOptions(400))
    })
  }
}
