import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { type TestContext, test } from 'node:test'
import { DID, lookupBody, startImpostor, startSite } from '../../../test/support/impostor.ts'
import { claimAgent, startTestService, type TestService } from '../../../test/support/service.ts'
import { setStatus } from '../../../test/support/set-status.ts'
import { until } from '../../../test/support/until.ts'
import { Clock } from './support/clock.ts'
import { visiting } from './support/direct.ts'

/** Something in front of a service that counts what is asked, and can hold answers back. */
async function startCounter(t: TestContext, service: TestService) {
  const asked: IncomingMessage[] = []
  let held: Promise<void> | null = null
  const url = await startSite(t, async (request, response) => {
    asked.push(request)
    await held
    const { accept = '', 'if-none-match': etag } = request.headers
    const headers = { accept, ...(etag && { 'if-none-match': etag }) }
    const answer = await fetch(service.url + request.url, { headers })
    const kept = ['content-type', 'cache-control', 'etag'].flatMap((name) => {
      const value = answer.headers.get(name)
      return value === null ? [] : [[name, value]]
    })
    response.writeHead(answer.status, Object.fromEntries(kept))
    response.end(await answer.text())
  })
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    held = promise
    return resolve
  }
  return { url, asked, hold }
}

async function start(t: TestContext) {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  return { service, did, counter: await startCounter(t, service), clock: new Clock() }
}

test('one question for all who name the same agent at the same time', async (t) => {
  const { did, counter } = await start(t)
  const visit = visiting({ service: counter.url })
  const release = counter.hold()
  const visits = Array.from({ length: 50 }, (_, i) =>
    visit({ ServiceID: i % 2 ? did : did.slice(-24) }),
  )
  await until(async () => counter.asked.length > 0)
  release()
  for (const { status } of await Promise.all(visits)) assert.equal(status, 200)
  assert.equal(counter.asked.length, 1)
})

test('an answer is used for cacheSeconds, then the service is asked by ETag; a revoked agent is out by then', async (t) => {
  const { service, did, counter, clock } = await start(t)
  const visit = visiting({ service: counter.url, now: clock.now, policy: { cacheSeconds: 5 } })
  const headers = { ServiceID: did }
  assert.equal((await visit(headers)).decision.source, 'service')
  clock.pass(4999)
  assert.equal((await visit(headers)).decision.source, 'cache')
  assert.equal(counter.asked.length, 1)
  clock.pass(1)
  assert.equal((await visit(headers)).decision.source, 'service')
  assert.equal(counter.asked.length, 2)
  assert.match(String(counter.asked[1]?.headers['if-none-match']), /"/)
  await setStatus(service, did, 'revoked')
  clock.pass(4999)
  assert.equal((await visit(headers)).status, 200)
  clock.pass(1)
  const { status, decision } = await visit(headers)
  assert.deepEqual(
    [status, decision.reasons[0].code, decision.status],
    [403, 'status-refused', 'revoked'],
  )
})

test('an answer is as old as its question: what took long to come is not used any longer for that', async (t) => {
  const { did, counter, clock } = await start(t)
  const visit = visiting({ service: counter.url, now: clock.now })
  const release = counter.hold()
  const first = visit({ ServiceID: did })
  await until(async () => counter.asked.length > 0)
  clock.pass(4000)
  release()
  await first
  clock.pass(1000)
  await visit({ ServiceID: did })
  assert.equal(counter.asked.length, 2)
})

test('a cache that was told to keep a lookup for longer makes no difference: the service is asked', async (t) => {
  const headers = { 'cache-control': 'public, max-age=3600' }
  const revoked = { headers, body: lookupBody('revoked') }
  const { url, asked } = await startImpostor(t, { headers, body: lookupBody() }, revoked)
  const clock = new Clock()
  const visit = visiting({ service: url, now: clock.now })
  assert.equal((await visit({ ServiceID: DID })).status, 200)
  clock.pass(5000)
  assert.equal((await visit({ ServiceID: DID })).status, 403)
  assert.equal(asked.length, 2)
})

test('cacheSeconds 0 asks for every request', async (t) => {
  const { service, did, counter } = await start(t)
  const visit = visiting({ service: counter.url, policy: { cacheSeconds: 0 } })
  assert.equal((await visit({ ServiceID: did })).status, 200)
  await setStatus(service, did, 'suspended')
  assert.equal((await visit({ ServiceID: did })).status, 403)
  assert.equal(counter.asked.length, 2)
})

test('agents that do not exist are remembered as well, for as long', async (t) => {
  const { counter, clock } = await start(t)
  const visit = visiting({ service: counter.url, now: clock.now })
  const unknown = `svc:agent:${'z'.repeat(24)}`
  for (let i = 0; i < 3; i++) assert.equal((await visit({ ServiceID: unknown })).status, 403)
  assert.equal(counter.asked.length, 1)
  clock.pass(5000)
  await visit({ ServiceID: unknown })
  assert.equal(counter.asked.length, 2)
})

test('what cannot be a DID costs no question', async (t) => {
  const { counter } = await start(t)
  const visit = visiting({ service: counter.url })
  for (const ServiceID of [
    '',
    'x',
    'svc:agent:',
    `svc:agent:${'0'.repeat(24)}`,
    'A'.repeat(9999),
  ]) {
    assert.equal((await visit({ ServiceID })).status, 401)
  }
  assert.equal(counter.asked.length, 0)
})

test('a minimum grade costs a second question, which the service lets be kept for longer', async (t) => {
  const { did, counter, clock } = await start(t)
  const strict = visiting({ service: counter.url, now: clock.now, policy: { minimumGrade: 'B' } })
  const { status, decision } = await strict({ ServiceID: did })
  assert.deepEqual([status, decision.grade, decision.reasons[0].code], [403, 'C', 'grade-too-low'])
  assert.match(decision.reasons[0].message, /is C, and B is needed/)
  assert.deepEqual(
    counter.asked.map(({ url }) => url?.split('/').at(-1)).sort(),
    [did, 'grade'].map((each) => each.replaceAll(':', '%3A')).sort(),
  )
  clock.pass(5000)
  await strict({ ServiceID: did })
  assert.equal(counter.asked.length, 3)
  const lax = visiting({ service: counter.url, policy: { minimumGrade: 'C' } })
  assert.equal((await lax({ ServiceID: did })).status, 200)
})

test('other names: the header, the DIDs and the headers for the site are the deployment’s own', async (t) => {
  const service = await startTestService(t, { SHORT_NAME: 'acme', ID_HEADER: 'AcmeID' })
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const naming = { shortName: 'acme', idHeader: 'AcmeID' }
  const visit = visiting({ service: service.url, naming })
  assert.match(did, /^acme:agent:/)
  assert.equal((await visit({ AcmeID: did })).status, 200)
  const other = await visit({ ServiceID: did })
  assert.equal(other.status, 401)
  assert.equal(other.response.headers.get('vary'), 'AcmeID, Accept')
  assert.match(other.decision.reasons[0].message, /AcmeID/)
  assert.doesNotMatch(JSON.stringify(other.decision), /ServiceID|svc/)
})
