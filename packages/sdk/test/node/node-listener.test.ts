import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
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
