import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { askRaw } from '../../../../test/support/ask.ts'
import { unchanged } from '../../../../test/support/database-digest.ts'
import { newKey } from '../../../../test/support/key.ts'
import { only, sendRaw } from '../../../../test/support/raw-http.ts'
import { verifyBody } from '../../../../test/support/refused-posts.ts'
import {
  claimAgent,
  claimBody,
  startTestService,
  type TestService,
} from '../../../../test/support/service.ts'

let service: TestService
let did: string
const key = newKey()
const ends: (() => unknown)[] = []

before(async () => {
  service = await startTestService({ after: (end) => ends.push(end) })
  did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
})

after(async () => {
  for (const end of ends.reverse()) await end()
})

function chunked(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`
}

const NEXT = 'GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n'

test('chunks in HTTP/1.0 end the connection, even with keep-alive (RFC 9112 section 6.1)', async () => {
  const head = 'Host: x\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n'
  const verify = `POST /api/v1/agent/verify HTTP/1.0\r\n${head}Content-Type: application/json\r\n\r\n`
  const requests = [
    `${verify}${chunked(JSON.stringify(verifyBody(key)))}`,
    `GET /api/v1/agent/${did} HTTP/1.0\r\n${head}\r\n${chunked('x')}`,
    `GET /healthz HTTP/1.0\r\n${head}\r\n${chunked('x')}`,
  ]
  for (const request of requests) {
    const { answers, closed, rest } = await sendRaw(service.url, `${request}${NEXT}`)
    const answer = only(answers)
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.headers.get('connection'), 'close')
    assert.deepEqual([closed, rest], [true, ''], 'what follows is not read as a request')
  }
  const plain = await sendRaw(
    service.url,
    `GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n${NEXT}`,
    { count: 2 },
  )
  assert.deepEqual(
    plain.answers.map(({ status }) => status),
    [200, 404],
    'keep-alive without chunks goes on',
  )
})

const BAD_HOSTS = [
  '',
  'a b',
  'a/b',
  'a\\b',
  'a?b',
  'a#b',
  'user@a',
  'a,b:80:80',
  'a:port',
  'a:80:80',
  'a:-1',
  'a:123456',
  ':80',
  '[::1',
  '::1',
  '[]',
  '[a]',
  '[::1]x',
  'a%2',
  'a%zz',
  '<a>',
  'é.example',
  'http://a',
]

test('an invalid Host is rejected, whatever its URL (RFC 9112 section 3.2)', async () => {
  for (const host of BAD_HOSTS) {
    for (const target of [
      `/api/v1/agent/${did}`,
      '/healthz',
      '/nowhere',
      `${service.url}/healthz`,
    ]) {
      const bytes = `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`
      assertRefused(await askRaw(service, bytes), 400, 'VALIDATION_ERROR', /Host/)
    }
    const old = `GET /api/v1/agent/${did} HTTP/1.0\r\nHost: ${host}\r\n\r\n`
    assertRefused(await askRaw(service, old), 400, 'VALIDATION_ERROR', /Host/)
  }
  const good = ['a', 'A.example', 'a_b.example.', '127.0.0.1:8080', '[::1]', '[2001:DB8::1]:443']
  for (const host of [...good, 'a:', 'xn--e1afmkfd.example', '%41.example', "a!$&'()*+,;=~"]) {
    const bytes = `GET /api/v1/agent/${did} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`
    assert.equal((await askRaw(service, bytes)).status, 200, host)
  }
})

test('a transfer coding other than chunked is 501, and ends the connection', async () => {
  const codings = [
    'gzip',
    'gzip, chunked',
    'chunked, gzip',
    'identity',
    'xchunked',
    'chunked, chunked',
  ]
  for (const coding of codings) {
    for (const line of ['POST /api/v1/claim', `GET /api/v1/agent/${did}`, 'GET /nowhere']) {
      const head = `Host: x\r\nContent-Type: application/json\r\nTransfer-Encoding: ${coding}\r\n`
      await unchanged(service, async () => {
        const bytes = `${line} HTTP/1.1\r\n${head}\r\n${chunked('{}')}${NEXT}`
        const { answers, closed, rest } = await sendRaw(service.url, bytes)
        assertRefused(only(answers), 501, 'NOT_IMPLEMENTED')
        assert.deepEqual([closed, rest], [true, ''], coding)
      })
    }
  }
  for (const coding of ['chunked', 'Chunked', ' chunked ']) {
    const head = `Host: x\r\nContent-Type: application/json\r\nConnection: close\r\nTransfer-Encoding: ${coding}\r\n`
    const body = chunked(JSON.stringify(verifyBody(key)))
    const bytes = `POST /api/v1/agent/verify HTTP/1.1\r\n${head}\r\n${body}`
    assert.equal((await askRaw(service, bytes)).status, 200, coding)
  }
})

test('a malformed chunked body gets one answer, even if the method needs no body', async () => {
  const head = 'Host: x\r\nTransfer-Encoding: chunked\r\n'
  const bodies = ['zz\r\nx\r\n0\r\n\r\n', '1\r\nx\r\nzz\r\n', '1\r\nxx\r\n0\r\n\r\n', '1\nx\n0\n\n']
  const targets = [`/api/v1/agent/${did}`, `/api/agents/${did}`, '/healthz', '/nowhere', '/']
  for (const target of targets) {
    for (const body of bodies) {
      for (const method of ['GET', 'HEAD', 'OPTIONS', 'DELETE']) {
        const bytes = `${method} ${target} HTTP/1.1\r\n${head}\r\n${body}`
        const { answers, closed, rest } = await sendRaw(service.url, bytes, {
          head: method === 'HEAD',
        })
        const { status } = only(answers)
        assert.deepEqual([closed, rest], [true, ''], `${method} ${target} ${status}`)
      }
    }
  }
})

test('If-Match is honoured (RFC 9110 section 13.1.1)', async () => {
  const target = `/api/v1/agent/${did}`
  const get = (headers: string, path = target, method = 'GET') =>
    askRaw(
      service,
      `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n`,
      { head: method === 'HEAD' },
    )
  const etag = (await get('')).headers.get('etag') as string
  for (const value of [etag, `"x", ${etag}`, '*', ` ${etag} `]) {
    const answer = await get(`If-Match: ${value}\r\n`)
    assert.deepEqual([answer.status, answer.headers.get('etag')], [200, etag], value)
  }
  for (const value of ['"x"', `W/${etag}`, 'x', '""']) {
    const refused = await get(`If-Match: ${value}\r\n`)
    assertRefused(refused, 412, 'PRECONDITION_FAILED')
    assert.equal(refused.headers.get('access-control-allow-origin'), '*')
    assert.equal((await get(`If-Match: ${value}\r\n`, target, 'HEAD')).status, 412)
    // If-Match comes before If-None-Match (section 13.2.2).
    const both = await get(`If-Match: ${value}\r\nIf-None-Match: ${etag}\r\n`)
    assertRefused(both, 412, 'PRECONDITION_FAILED')
  }
  assert.equal((await get(`If-Match: ${etag}\r\nIf-None-Match: ${etag}\r\n`)).status, 304)
  for (const path of [
    `/api/agents/${did}`,
    `/api/agents/${did}/card`,
    '/healthz',
    '/openapi.json',
    '/',
  ]) {
    assertRefused(await get('If-Match: "x"\r\n', path), 412, 'PRECONDITION_FAILED')
    assert.equal((await get('If-Match: *\r\n', path)).status, 200)
  }
  // What the route has said about its own body is not said about that of the error.
  const compressed = await get('If-Match: "x"\r\nAccept-Encoding: gzip\r\n', '/docs')
  assertRefused(compressed, 412, 'PRECONDITION_FAILED')
  assert.equal(compressed.headers.has('content-encoding'), false)
  const unknown = `/api/v1/agent/${'1'.repeat(24)}`
  assertRefused(await get('If-Match: "x"\r\n', unknown), 404, 'NOT_FOUND')
})

test('a change whose If-Match is false is not made', async () => {
  const owner = await service.operator.addVerifiedOwner()
  const body = JSON.stringify(claimBody(await service.operator.issueToken(owner)))
  const claim = (condition: string) =>
    askRaw(
      service,
      `POST /api/v1/claim HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${body.length}\r\nIf-Match: ${condition}\r\n\r\n${body}`,
    )
  const refused = await unchanged(service, () => claim('"x"'))
  assertRefused(refused, 412, 'PRECONDITION_FAILED')
  assert.equal(jsonOf<{ success: boolean }>(await claim('*')).success, true)
})
