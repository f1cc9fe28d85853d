import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Registry } from '@countersign/sdk'
import {
  DID,
  type Line,
  lookupBody,
  refusal,
  startImpostor,
} from '../../../test/support/impostor.ts'
import { freePort } from '../../../test/support/ports.ts'
import type { WhenUnreachable } from '../src/policy/policy.ts'
import { Clock } from './support/clock.ts'
import { fetchGateway } from './support/fetch-gateway.ts'

const GOOD: Line = { body: lookupBody() }
const HEADERS = { ServiceID: DID }

/** The ways in which a service can fail. */
const FAILURES: Readonly<Record<string, Line>> = {
  hangs: { instead: 'hang' },
  'drops the connection': { instead: 'drop' },
  'fails (500)': { status: 500, body: refusal('INTERNAL_ERROR') },
  'is unavailable (503)': {
    status: 503,
    body: 'no JSON',
    headers: { 'content-type': 'text/html' },
  },
  'wants to be asked less often (429)': { status: 429, body: refusal('RATE_LIMITED') },
  'answers with garbage': { body: '{"verified":' },
  'answers with another shape': { body: { verified: 'yes' } },
  'answers about another agent': {
    body: {
      ...lookupBody(),
      certificate: { ...lookupBody().certificate, id: DID.replaceAll('A', 'B') },
    },
  },
  redirects: { status: 302, headers: { location: 'https://elsewhere.example/' } },
  'refuses the question (400)': { status: 400, body: refusal('VALIDATION_ERROR') },
  'answers 404 without saying why': {
    status: 404,
    body: 'nothing',
    headers: { 'content-type': 'text/plain' },
  },
}

const OUTCOMES: Readonly<Record<WhenUnreachable, readonly [status: number, action: string]>> = {
  deny: [503, 'deny'],
  flag: [200, 'flag'],
  allow: [200, 'allow'],
  stale: [503, 'deny'],
}

for (const [what, line] of Object.entries(FAILURES)) {
  test(`a service that ${what}: the rule for an unreachable service applies, and nothing is thrown`, async (t) => {
    for (const [rule, [status, action]] of Object.entries(OUTCOMES)) {
      const { url } = await startImpostor(t, line)
      const visit = fetchGateway({
        service: new Registry(url, { retries: 0 }),
        timeoutMs: 100,
        policy: { unreachable: rule as WhenUnreachable },
      })
      const { decision, response } = await visit(HEADERS)
      assert.deepEqual([response.status, decision.action], [status, action], rule)
      assert.equal(decision.reasons[0].code, 'service-unreachable')
      assert.deepEqual([decision.verified, decision.status, decision.source], [false, null, null])
      assert.equal(decision.did, DID)
      if (status === 200) continue
      assert.equal(response.headers.get('retry-after'), '5')
      const { error } = (await response.json()) as { error: { code: string } }
      assert.equal(error.code, 'UNAVAILABLE')
    }
  })
}

test('if nothing listens, the rule for an unreachable service applies, and anonymous requests are decided as usual', async () => {
  const service = `http://127.0.0.1:${await freePort()}`
  const visit = fetchGateway({ service, timeoutMs: 1000, policy: { unreachable: 'flag' } })
  assert.equal((await visit(HEADERS)).decision.action, 'flag')
  assert.equal((await visit()).status, 401)
})

async function startStale(t: TestContext, ...script: readonly Line[]) {
  const hangs = script.some(({ instead }) => instead === 'hang')
  const impostor = await startImpostor(t, ...script)
  const clock = new Clock()
  const visit = fetchGateway({
    service: new Registry(impostor.url, { retries: 0 }),
    now: clock.now,
    // Long enough for a busy machine: in these cases the service either answers or never does.
    timeoutMs: hangs ? 3000 : 60_000,
    policy: { unreachable: 'stale', maxStaleSeconds: 60 },
  })
  return { impostor, clock, visit }
}

test('stale uses the last answer up to maxStaleSeconds and reports its age', async (t) => {
  const { clock, visit } = await startStale(t, GOOD, { instead: 'drop' })
  assert.equal((await visit(HEADERS)).decision.source, 'service')
  clock.pass(30_000)
  const { status, decision } = await visit(HEADERS)
  assert.equal(status, 200)
  assert.equal(decision.source, 'stale')
  assert.deepEqual(
    decision.reasons.map(({ code }) => code),
    ['owner-verified', 'answer-stale', 'header-only'],
  )
  assert.match(decision.reasons[1]?.message ?? '', / 30 seconds ago/)
  clock.pass(30_000)
  assert.equal((await visit(HEADERS)).status, 200)
  clock.pass(1)
  const { decision: late } = await visit(HEADERS)
  assert.deepEqual([late.refusal?.status, late.reasons[0].code], [503, 'service-unreachable'])
})

test('stale keeps refusing an agent that was revoked in the last answer', async (t) => {
  const { clock, visit } = await startStale(t, { body: lookupBody('revoked') }, { instead: 'drop' })
  await visit(HEADERS)
  clock.pass(10_000)
  const { status, decision } = await visit(HEADERS)
  assert.deepEqual([status, decision.source], [403, 'stale'])
})

test('while the service is unreachable, one request retries it at a time and the others do not wait', async (t) => {
  const { impostor, clock, visit } = await startStale(
    t,
    GOOD,
    { instead: 'drop' },
    { instead: 'hang' },
    GOOD,
  )
  await visit(HEADERS)
  clock.pass(5000)
  await visit(HEADERS)
  assert.equal(impostor.asked.length, 2)
  for (let i = 0; i < 20; i++) assert.equal((await visit(HEADERS)).decision.source, 'stale')
  assert.equal(impostor.asked.length, 2)
  clock.pass(1000)
  const trying = visit({ ServiceID: DID })
  await impostor.untilAsked(3)
  // Another agent is not looked up while the trial request is pending.
  const other = await visit({ ServiceID: DID.replaceAll('A', 'C') })
  assert.equal(other.status, 503)
  assert.equal(impostor.asked.length, 3)
  assert.equal((await trying).decision.source, 'stale')
  clock.pass(1000)
  assert.equal((await visit(HEADERS)).decision.source, 'service')
  assert.equal(impostor.asked.length, 4)
})

test('an error for one agent does not stop lookups of others', async (t) => {
  const { impostor, visit } = await startStale(
    t,
    { status: 500, body: refusal('INTERNAL_ERROR') },
    GOOD,
  )
  assert.equal((await visit({ ServiceID: DID.replaceAll('A', 'C') })).status, 503)
  assert.equal((await visit(HEADERS)).status, 200)
  assert.equal(impostor.asked.length, 2)
})

test('the Retry-After of the service is respected', async (t) => {
  const busy = { status: 429, body: refusal('RATE_LIMITED'), headers: { 'retry-after': '7' } }
  const { impostor, clock, visit } = await startStale(t, busy, GOOD)
  await visit(HEADERS)
  clock.pass(6999)
  assert.equal((await visit(HEADERS)).status, 503)
  assert.equal(impostor.asked.length, 1)
  clock.pass(1)
  assert.equal((await visit(HEADERS)).status, 200)
})

test('an error in the gateway itself is decided by the rule for an unreachable service', async () => {
  const broken = { session: () => Promise.reject(new Error('broken')) }
  const thrown = {
    session: () => {
      throw new Error('broken')
    },
  }
  const headers = { authorization: 'Bearer token', ServiceID: DID }
  for (const sessions of [broken, thrown]) {
    for (const [rule, [status, action]] of Object.entries(OUTCOMES)) {
      const policy = { unreachable: rule as WhenUnreachable }
      const visit = fetchGateway({ service: 'http://127.0.0.1:1', sessions, policy })
      const { decision, response } = await visit(headers)
      assert.deepEqual([response.status, decision.action], [status, action])
      assert.deepEqual(
        decision.reasons.map(({ code }) => code),
        ['gateway-failed'],
      )
      assert.equal(decision.proofOfPossession, false)
    }
  }
})

test('if the gateway fails on an ambiguous path, the strictest rule for an unreachable service applies', async () => {
  const sessions = { session: () => Promise.reject(new Error('broken')) }
  const headers = { authorization: 'Bearer token', ServiceID: DID }
  const visit = fetchGateway({
    service: 'http://127.0.0.1:1',
    sessions,
    policy: { unreachable: 'allow', routes: [{ path: '/admin/*', unreachable: 'deny' }] },
  })
  for (const [path, status] of Object.entries({
    '/x': 200,
    '/admin/x': 503,
    '//admin/x': 503,
    '/%61dmin/x': 503,
    '/adm%69n/x': 503,
  })) {
    const { decision, response } = await visit(headers, path)
    assert.equal(response.status, status, path)
    assert.deepEqual(
      decision.reasons.map(({ code }) => code),
      ['gateway-failed'],
    )
  }
})
