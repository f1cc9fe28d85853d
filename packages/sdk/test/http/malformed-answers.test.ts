import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  DID,
  lookupBody,
  refusal,
  startImpostor,
  startSite,
} from '../../../../test/support/impostor.ts'
import { Registry } from '../../src/registry.ts'
import { failsWith } from '../support/fails.ts'

const ONCE = { retries: 0 }

/** Every way to replace or drop one member, at any depth. */
function* spoilt(value: unknown): Generator<unknown> {
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) {
    const { [name]: _, ...rest } = value as Record<string, unknown>
    yield rest
    for (const other of [undefined, 7, 'x', {}, []]) {
      if (typeof other === typeof member && name === 'identityMethod') continue
      if (name === 'verifyUrl' && typeof other === 'string') continue
      if (name === 'identityMethod' && other === null) continue
      yield { ...value, [name]: other }
    }
    for (const each of spoilt(member)) yield { ...value, [name]: each }
  }
}

test('a lookup with any member missing or of another type is an error, never half an answer', async (t) => {
  const bodies = [...spoilt(lookupBody())]
  assert.ok(bodies.length > 40)
  const impostor = await startImpostor(t, ...bodies.map((body) => ({ body })))
  const registry = new Registry(impostor.url, ONCE)
  for (const body of bodies) {
    const error = await failsWith('PROTOCOL', registry.lookup(DID))
    assert.match(error.message, /body\.|body\)/, JSON.stringify(body))
    assert.equal(error.status, 200)
  }
})

test('what is no answer of a service at all', async (t) => {
  const html = { 'content-type': 'text/html' }
  const cases = [
    { body: 'not json' },
    { body: '' },
    { body: '[]' },
    { body: 'null' },
    { body: '7' },
    { body: lookupBody(), headers: html },
    { body: lookupBody(), headers: { 'content-type': '' } },
    { body: `\ufeff${JSON.stringify(lookupBody())}x` },
    { status: 201, body: lookupBody() },
    { status: 204 },
    { status: 304 },
    { status: 404, body: '<h1>Not Found</h1>', headers: html },
    { status: 404, body: { error: 'no' } },
    { status: 404, body: { error: { code: 'NOT_FOUND', message: 'No.' } } },
    { status: 418, body: refusal('TEAPOT') },
    { status: 400, body: refusal('toString') },
    {
      body: {
        ...lookupBody(),
        certificate: { ...lookupBody().certificate, id: DID.replace('A', 'B') },
      },
    },
  ]
  const { url } = await startImpostor(t, ...cases)
  const registry = new Registry(url, ONCE)
  for (const each of cases) {
    const error = await failsWith('PROTOCOL', registry.lookup(DID))
    assert.equal(error.status, each.status ?? 200, JSON.stringify(each))
  }
})

test('bytes that are not UTF-8 are no answer', async (t) => {
  const text = JSON.stringify(lookupBody()).replace('in-person', 'in-\u00e9')
  const url = await startSite(t, (_, response) => {
    response.setHeader('content-type', 'application/json').end(Buffer.from(text, 'latin1'))
  })
  await failsWith('PROTOCOL', new Registry(url, ONCE).lookup(DID))
})

test('what is in front of a service and answers for it is told apart from the service', async (t) => {
  const html = { 'content-type': 'text/html' }
  const { url } = await startImpostor(
    t,
    { status: 502, body: '<h1>Bad Gateway</h1>', headers: html },
    { status: 503, body: { message: 'x' } },
    { status: 429, body: 'slow down', headers: { ...html, 'retry-after': '7' } },
    { status: 500, body: refusal('INTERNAL_ERROR') },
  )
  const registry = new Registry(url, ONCE)
  for (const [code, status, requestId] of [
    ['UNAVAILABLE', 502, null],
    ['UNAVAILABLE', 503, null],
    ['RATE_LIMITED', 429, null],
    ['INTERNAL_ERROR', 500, 'req_1'],
  ] as const) {
    const error = await failsWith(code, registry.lookup(DID))
    assert.deepEqual([error.status, error.requestId], [status, requestId])
    assert.equal(error.retryAfterMs, code === 'RATE_LIMITED' ? 7000 : null)
  }
})

test('an answer that is too long is not read to its end', async (t) => {
  let sent = 0
  let closed = false
  const url = await startSite(t, (_, response) => {
    response.on('close', () => (closed = true))
    response.setHeader('content-type', 'application/json')
    const more = () => {
      if (closed) return
      sent += 65_536
      response.write(' '.repeat(65_536), more)
    }
    more()
  })
  const { message } = await failsWith('PROTOCOL', new Registry(url, ONCE).lookup(DID))
  assert.match(message, /1048576 bytes/)
  assert.ok(sent < 64 * 1024 * 1024)
  const { url: exact } = await startImpostor(t, { body: lookupBody() })
  const length = JSON.stringify(lookupBody()).length
  await new Registry(exact, { ...ONCE, maxBytes: length }).lookup(DID)
  await failsWith('PROTOCOL', new Registry(exact, { ...ONCE, maxBytes: length - 1 }).lookup(DID))
})

test('redirects are not followed, not even within the service; the other place sees nothing', async (t) => {
  const elsewhere = await startImpostor(t, { body: lookupBody() })
  for (const location of [`${elsewhere.url}/api`, '/elsewhere', 'https://', '']) {
    for (const status of [301, 302, 303, 307, 308]) {
      const { url, asked } = await startImpostor(t, { status, headers: { location } })
      const registry = new Registry(url, ONCE)
      const { message } = await failsWith('PROTOCOL', registry.lookup(DID))
      if (location.startsWith(elsewhere.url)) assert.ok(message.includes(elsewhere.url))
      assert.equal(asked.length, 1)
    }
  }
  assert.equal(elsewhere.asked.length, 0)
})
