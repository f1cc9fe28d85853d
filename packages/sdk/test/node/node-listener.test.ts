import assert from 'node:assert/strict'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import express from 'express'
import fastify from 'fastify'
import { startSite } from '../../../../test/support/impostor.ts'
import { only, sendRaw } from '../../../../test/support/raw-http.ts'
import { nodeListener } from '../../src/node/node-listener.ts'

const ORIGIN = 'https://shop.example'

function siteOf(t: TestContext, handler: (request: Request) => Response | Promise<Response>) {
  return startSite(t, nodeListener(ORIGIN, handler))
}

test('a handler gets the request as it was sent, and its answer goes out as it is', async (t) => {
  const site = await siteOf(t, async (request) => {
    const { method, url, headers } = request
    const text = [method, url, headers.get('x-a'), await request.text()].join(' ')
    const answer = new Headers({ 'content-type': 'text/plain', 'x-b': 'b' })
    for (const cookie of ['a=1', 'b=2']) answer.append('set-cookie', cookie)
    return new Response(text, { status: 201, headers: answer })
  })
  const response = await fetch(`${site}/a?b=c`, {
    method: 'POST',
    body: 'é',
    headers: { 'x-a': '1' },
  })
  assert.equal(response.status, 201)
  assert.equal(await response.text(), `POST ${ORIGIN}/a?b=c 1 é`)
  assert.deepEqual(response.headers.getSetCookie(), ['a=1', 'b=2'])
  assert.equal(response.headers.get('x-b'), 'b')
  assert.equal(await (await fetch(site, { method: 'HEAD' })).text(), '')
})

test('neither the Host header nor the target makes it another site’s request', async (t) => {
  const urls: string[] = []
  const site = await siteOf(t, (request) => {
    urls.push(request.url)
    return new Response()
  })
  for (const target of [
    '/x',
    '//evil.example/x',
    '@evil.example',
    '.evil.example',
    'http://evil.example/x',
  ]) {
    const request = `GET ${target} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n`
    only((await sendRaw(site, request)).answers)
  }
  assert.deepEqual(
    urls.map((url) => new URL(url).origin),
    urls.map(() => ORIGIN),
  )
  assert.ok(urls.length >= 2)
})

test('a handler that throws is told of, and answers 500 without its words', async (t) => {
  const printed = t.mock.method(console, 'error', () => undefined)
  const site = await siteOf(t, () => {
    throw new Error('a secret')
  })
  const response = await fetch(site)
  assert.deepEqual([response.status, await response.text()], [500, ''])
  assert.match(String(printed.mock.calls[0]?.arguments[0]), /a secret/)
})

/** Answers with what a handler sees of the body. */
async function echo(request: Request): Promise<Response> {
  const { headers } = request
  const names = ['content-type', 'content-length', 'content-encoding']
  const body = await request.text()
  return Response.json({ url: request.url, body, headers: names.map((each) => headers.get(each)) })
}

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'application/x-www-form-urlencoded'

/** Bodies and what a handler sees of them after a parser has read them. */
const BODIES: readonly (readonly [type: string, body: string])[] = [
  [JSON_TYPE, '{"a":[1,"é"],"b":null}'],
  ['application/vnd.x+json', '{"a":1}'],
  [FORM_TYPE, 'a=1&a=2&b=%C3%A9+x'],
  ['text/plain', 'a text, é'],
  ['application/octet-stream', 'bytes'],
  ['multipart/form-data; boundary=x', '--x--'],
]

async function post(url: string, type: string, body: string) {
  const response = await fetch(url, { method: 'POST', body, headers: { 'content-type': type } })
  return (await response.json()) as { url: string; body: string; headers: (string | null)[] }
}

test('Express: bodies arrive whether or not a parser has read them', async (t) => {
  const app = express()
  const listener = nodeListener(ORIGIN, echo)
  app.all('/unread', listener)
  for (const parser of [
    express.json(),
    express.urlencoded({ extended: false }),
    express.text(),
    express.raw(),
  ]) {
    app.use(parser)
  }
  app.use('/below', listener)
  const server = app.listen(0, '127.0.0.1') as Server
  await new Promise((resolve) => server.once('listening', resolve))
  t.after(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  const site = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  for (const [type, body] of BODIES) {
    for (const path of ['/unread', '/below/x?y']) {
      const seen = await post(site + path, type, body)
      assert.equal(seen.body, body, `${path} ${type}`)
      assert.equal(seen.headers[0], type)
      assert.equal(seen.url, ORIGIN + path)
    }
  }
  const parsed = await post(`${site}/below`, JSON_TYPE, ' {"a" : 1} ')
  assert.deepEqual([parsed.body, parsed.headers], ['{"a":1}', [JSON_TYPE, null, null]])
  for (const method of ['POST', 'DELETE', 'GET']) {
    const response = await fetch(`${site}/below`, { method })
    assert.equal(((await response.json()) as { body: string }).body, '')
  }
})

test('Fastify: bodies arrive, and the hooks run', async (t) => {
  const app = fastify({ forceCloseConnections: true })
  app.addContentTypeParser(FORM_TYPE, { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  )
  app.addHook('onSend', (_request, reply, payload, done) => {
    reply.header('x-hook', 'ran')
    done(null, payload)
  })
  app.all('/x', nodeListener(ORIGIN, echo))
  t.after(() => app.close())
  const site = await app.listen({ port: 0, host: '127.0.0.1' })
  for (const [type, body] of BODIES.filter(([each]) => /json$|form-url|plain/.test(each))) {
    if (type === 'application/vnd.x+json') continue
    assert.equal((await post(`${site}/x`, type, body)).body, body, type)
  }
  const response = await fetch(`${site}/x`)
  assert.deepEqual([response.status, response.headers.get('x-hook')], [200, 'ran'])
})

test('a body that was read without a trace is an error that says so', async (t) => {
  const printed = t.mock.method(console, 'error', () => undefined)
  const listener = nodeListener(ORIGIN, echo)
  const site = await startSite(t, async (request, response) => {
    for await (const _ of request);
    const body = request.headers['content-type']?.startsWith('multipart') ? { a: 'b' } : undefined
    listener(Object.assign(request, { body }), response)
  })
  for (const type of ['text/plain', 'multipart/form-data; boundary=x']) {
    const headers = { 'content-type': type }
    assert.equal((await fetch(site, { method: 'POST', body: 'gone', headers })).status, 500)
  }
  const messages = printed.mock.calls.map(({ arguments: [error] }) => String(error))
  assert.match(messages[0] ?? '', /was already read and is no longer available/)
  assert.match(messages[1] ?? '', /multipart\/form-data; boundary=x cannot be restored/)
})
