import assert from 'node:assert/strict'
import { METHODS } from 'node:http'
import { after, before, test } from 'node:test'
import { assertRefused } from '../../../../test/support/answer.ts'
import { ask, askRaw, post } from '../../../../test/support/ask.ts'
import { unchanged } from '../../../../test/support/database-digest.ts'
import {
  claimAgent,
  claimBody,
  startTestService,
  type TestService,
} from '../../../../test/support/service.ts'

const READ = ['GET', 'HEAD', 'OPTIONS']

/** Every address of the service, with the methods that it has. */
async function addressesOf(service: TestService): Promise<[string, readonly string[]][]> {
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  return [
    [`/api/v1/agent/${did}`, READ],
    ['/api/v1/agent/verify', ['POST', 'OPTIONS']],
    ['/api/v1/verify-request', ['POST', 'OPTIONS']],
    ['/api/v1/claim', ['POST']],
    ['/api/v1/identify', READ],
    [`/api/v1/agent/${did}/card`, READ],
    [`/api/agents/${did}`, READ],
    [`/api/agents/${did}/card`, READ],
    [`/api/agents/${did}/avatar.svg`, READ],
    [`/api/agents/${did}/avatar.webp`, READ],
    [`/agent/${did}`, ['GET', 'HEAD']],
    [`/agent/${did}/badge.svg`, READ],
    [`/agent/${did}/preview.png`, READ],
    [`/agent/${did}/qr.svg`, READ],
    ['/', ['GET', 'HEAD']],
    ['/check', ['GET', 'HEAD', 'POST']],
    ['/check/request', ['GET', 'HEAD', 'POST']],
    ['/console', ['GET', 'HEAD', 'POST']],
    ['/sample', ['GET', 'HEAD']],
    ['/icon.svg', ['GET', 'HEAD']],
    [`/agent/svc/agent/${did.slice(-24)}/did.json`, READ],
    ['/healthz', ['GET', 'HEAD']],
    ['/readyz', ['GET', 'HEAD']],
    ['/openapi.json', ['GET', 'HEAD']],
    // These overlap a pattern with a parameter, which supports other methods.
    ['/api/agents/token', ['POST']],
    ['/api/account/agents/revoke-all', ['POST']],
    ['/api/account/agents/status', ['POST']],
    ['/docs/api', ['GET', 'HEAD']],
    // Other spellings of the same URL.
    ['/api/v1/claim?a=b', ['POST']],
    ['/api/v1/%63laim', ['POST']],
    ['http://elsewhere/api/v1/claim', ['POST']],
  ]
}

let service: TestService
let addresses: [string, readonly string[]][]
const ends: (() => unknown)[] = []

before(async () => {
  service = await startTestService({ after: (end) => ends.push(end) })
  addresses = await addressesOf(service)
})

after(async () => {
  for (const end of ends.reverse()) await end()
})

test('every unsupported method of every URL gets 405 with the supported methods', async (t) => {
  const claim = JSON.stringify(claimBody(`svc-verify-${'0'.repeat(32)}`))
  for (const [address, known] of addresses) {
    await t.test(address.replace(/svc:agent:\w+|\w{24}/, '{did}'), async () => {
      const others = METHODS.filter((each) => each !== 'CONNECT' && !known.includes(each))
      assert.ok(others.length > 25)
      const refuse = async (method: string) => {
        const answer = await askRaw(
          service,
          `${method} ${address} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n` +
            `Content-Type: application/json\r\nContent-Length: ${claim.length}\r\n\r\n${claim}`,
          { head: method === 'HEAD' },
        )
        assert.equal(answer.headers.get('allow'), [...known].sort().join(', '), method)
        if (method === 'HEAD') assert.equal(answer.status, 405)
        else assertRefused(answer, 405, 'METHOD_NOT_ALLOWED')
      }
      await unchanged(service, () => Promise.all(others.map(refuse)))
    })
  }
})

test('unknown URLs get 404, whatever the method', async (t) => {
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const nowhere = [
    '/nowhere',
    '/api',
    '/api/',
    '/api/v1',
    '/api/v1/claim/',
    '/api/v1/claims',
    '/api/v1/CLAIM',
    '/API/v1/claim',
    '/api/v2/claim',
    '//api/v1/claim',
    '/api//v1/claim',
    '/./api/v1/claim',
    '/x/../api/v1/claim',
    '/api/v1/claim;x=y',
    '/api%2Fv1/claim',
    `/api/v1/agent/${did}/`,
    `/api/v1/agent/${did}/cards`,
    `/api/v1/agent//${did}`,
    '/api/v1/agent',
    '/api/agents',
    `/api/agents/${did}/avatar.png`,
    `/agent/acme/agent/${did.slice(-24)}/did.json`,
    '/.well-known/did.json',
    '/metrics',
    '/favicon.ico',
    '/index.html',
    '/.env',
    '/..%2f..%2fetc%2fpasswd',
    `/${'a/'.repeat(4000)}`,
    `/${'a'.repeat(15_000)}`,
    '*',
  ]
  for (const address of nowhere) {
    await t.test(address.slice(0, 60), async () => {
      for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS', 'PROPFIND', 'TRACE', 'QUERY']) {
        const bytes = `${method} ${address} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`
        assertRefused(await askRaw(service, bytes), 404, 'NOT_FOUND')
      }
    })
  }
})

test('at an unknown URL the body is not checked', async () => {
  const bodies: [string, string][] = [
    ['application/json', '{}'],
    ['application/json', 'no JSON'],
    ['application/json', ' '.repeat(20_000)],
    ['text/plain', 'x'],
    ['no media type', 'x'],
    ['application/json; charset=utf-16', '{}'],
  ]
  for (const [type, body] of bodies) {
    const answer = await post(service, '/api/v1/nowhere', body, type)
    assertRefused(answer, 404, 'NOT_FOUND')
  }
})

test('a URL without an agent reference names no agent', async () => {
  for (const address of ['/api/v1/agent/', '/api/agents/', '/agent/', '/api/agents//card']) {
    const answer = await ask(service, address)
    assertRefused(answer, 400, 'VALIDATION_ERROR')
  }
})

test('HEAD is answered like GET, without a body', async (t) => {
  for (const [address, known] of addresses) {
    if (!known.includes('GET')) continue
    await t.test(address.replace(/svc:agent:\w+|\w{24}/, '{did}'), async () => {
      const get = await ask(service, address)
      const head = await ask(service, address, { method: 'HEAD' })
      assert.equal(head.status, get.status)
      assert.equal(head.text, '')
      // The report of /readyz contains ages, and /check/request a new sample, so their lengths change.
      const varies = address === '/readyz' || address === '/check/request'
      const ignored = varies ? { 'content-length': undefined } : {}
      assert.deepEqual({ ...headersOf(head), ...ignored }, { ...headersOf(get), ...ignored })
    })
  }
})

test('an error response to HEAD has status and headers, and no body', async () => {
  const refusals: [string, number][] = [
    ['/api/v1/agent/x', 400],
    [`/api/v1/agent/${'1'.repeat(24)}`, 404],
    ['/nowhere', 404],
    ['/api/v1/claim', 405],
    ['/%ff', 400],
  ]
  for (const [address, status] of refusals) {
    const bytes = `HEAD ${address} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`
    const answer = await askRaw(service, bytes, { head: true })
    assert.equal(answer.status, status)
    assert.equal(answer.headers.get('cache-control'), 'no-store')
    assert.match(answer.headers.get('content-type') as string, /^application\/json/)
  }
})

test('the body of a GET is ignored, and not read as the next request', async () => {
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const plain = await ask(service, `/api/v1/agent/${did}`)
  for (const type of ['application/json', 'text/plain', 'application/json; charset=utf-16']) {
    const smuggled = 'GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n'
    const answer = await askRaw(
      service,
      `GET /api/v1/agent/${did} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n` +
        `Content-Type: ${type}\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
    )
    assert.equal(answer.status, 200)
    assert.equal(answer.text, plain.text)
  }
})

/** Headers without those that differ between two responses. */
function headersOf({ headers }: { headers: Headers }): Record<string, string> {
  const { date, connection, 'keep-alive': _, ...rest } = Object.fromEntries(headers)
  return rest
}
