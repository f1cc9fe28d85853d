import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CodedError } from '@countersign/protocol'
import { fastify } from 'fastify'
import { MethodGuard } from '../../src/http/method-guard.ts'
import { countRequests, RequestMetrics } from '../../src/http/metrics/request-metrics.ts'

/** Addresses whose patterns overlap, with their methods. */
const PATTERNS: readonly (readonly [string, readonly ('GET' | 'POST' | 'PUT' | 'DELETE')[]])[] = [
  ['/agents', ['GET', 'POST']],
  ['/agents/:agent', ['GET', 'PUT']],
  ['/agents/token', ['POST']],
  ['/agents/:agent/card', ['GET']],
  ['/agents/token/:part', ['PUT']],
  ['/files', ['GET']],
  ['/files/*', ['GET']],
  ['/files/new', ['POST']],
  ['/files/:name/history', ['DELETE']],
]

/** URL, expected pattern and supported methods (HEAD comes with GET); null for an unknown URL. */
const ADDRESSES: readonly (readonly [string, string, string | null])[] = [
  ['/agents', '/agents', 'GET, HEAD, POST'],
  ['/agents/x', '/agents/:agent', 'GET, HEAD, PUT'],
  ['/agents/x?y=/agents', '/agents/:agent', 'GET, HEAD, PUT'],
  ['/agents/', '/agents/:agent', 'GET, HEAD, PUT'],
  ['/agents/token', '/agents/token', 'POST'],
  ['/agents/%74oken', '/agents/token', 'POST'],
  ['/agents/tokens', '/agents/:agent', 'GET, HEAD, PUT'],
  ['/agents/x/card', '/agents/:agent/card', 'GET, HEAD'],
  ['/agents/token/card', '/agents/token/:part', 'PUT'],
  ['/files', '/files', 'GET, HEAD'],
  ['/files/a/b/c', '/files/*', 'GET, HEAD'],
  ['/files/new', '/files/new', 'POST'],
  ['/files/new/history', '/files/:name/history', 'DELETE'],
  ['/agents/x/cards', 'none', null],
  ['/agents/x/card/', 'none', null],
  ['/', 'none', null],
]

test('of overlapping patterns the best match decides which methods a URL supports', async () => {
  const metrics = new RequestMetrics()
  const app = fastify()
  const guard = new MethodGuard(app)
  app.setErrorHandler((error: CodedError, _request, reply) =>
    reply.code(error.code === 'METHOD_NOT_ALLOWED' ? 405 : 404).send(error.code),
  )
  app.addHook('onRequest', (request, reply, done) => {
    done(request.is404 ? (guard.methodError(request, reply) ?? new Error('not found')) : undefined)
  })
  countRequests(app, metrics)
  for (const [url, methods] of PATTERNS) {
    app.route({ url, method: [...methods], handler: async () => url })
  }
  guard.finish(app)

  for (const [url, pattern, allow] of ADDRESSES) {
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND'] as const) {
      const { statusCode, headers, payload } = await app.inject({ url, method: method as 'GET' })
      const what = `${method} ${url}`
      const isKnown = allow?.split(', ').includes(method)
      assert.equal(statusCode, allow === null ? 404 : isKnown ? 200 : 405, what)
      assert.equal(headers.allow, allow === null || isKnown ? undefined : allow, what)
      if (isKnown && method !== 'HEAD') assert.equal(payload, pattern, what)
      const counted = metrics
        .render()
        .includes(`route="${pattern}",method="${method}",status="${statusCode}"`)
      assert.ok(counted, `${what} is counted under its pattern`)
    }
  }
  await app.close()
})
