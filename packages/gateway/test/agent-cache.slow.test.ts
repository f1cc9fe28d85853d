import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { type TestContext, test } from 'node:test'
import { DID, lookupBody, startImpostor, startSite } from '../../../test/support/impostor.ts'
import { claimAgent, startTestService, type TestService } from '../../../test/support/service.ts'
import { setStatus } from '../../../test/support/set-status.ts'
import { until } from '../../../test/support/until.ts'
import { Clock } from './support/clock.ts'
import { fetchGateway } from './support/fetch-gateway.ts'

/** A proxy in front of the service that counts requests and can delay responses. */
async function startCounter(t: TestContext, service: TestService) {
  const asked: IncomingMessage[] = []
  let held: Promise<void> | null = null
  const url = await startSite(t, async (request, response) => {
    asked.push(request)
    await held
    const { accept = '', 'if-none-match': etag } = request.headers
    const headers = { accept, ...(etag && { 'if-none-match': etag }) }
    // A gateway may still ask when the test has ended, and the service with it.
    const answer = await fetch(service.url + request.url, { headers }).catch(() => null)
    if (answer === null) return response.destroy()
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

test('concurrent requests for the same agent cause one lookup', async (t) => {
  const { did, counter } = await start(t)
  const visit = fetchGateway({ service: counter.url })
  const release = counter.hold()
  const visits = Array.from({ length: 50 }, (_, i) =>
    visit({ ServiceID: i % 2 ? did : did.slice(-24) }),
  )
  await until(async () => counter.asked.length > 0)
  release()
  for (const { status } of await Promise.all(visits)) assert.equal(status, 200)
  assert.equal(counter.asked.length, 1)
})

test('a lookup is cached for cacheSeconds, then revalidated by ETag, so that a revoked agent is refused', async (t) => {
  const { service, did, counter, clock } = await start(t)
  const visit = fetchGateway({ service: counter.url, now: clock.now, policy: { cacheSeconds: 5 } })
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

test('the age of a cached lookup counts from the request, not from the response', async (t) => {
  const { did, counter, clock } = await start(t)
  const visit = fetchGateway({ service: counter.url, now: clock.now })
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

test('a long max-age of a lookup does not delay the next check by the gateway', async (t) => {
  const headers = { 'cache-control': 'public, max-age=3600' }
  const revoked = { headers, body: lookupBody('revoked') }
  const { url, asked } = await startImpostor(t, { headers, body: lookupBody() }, revoked)
  const clock = new Clock()
  const visit = fetchGateway({ service: url, now: clock.now })
  assert.equal((await visit({ ServiceID: DID })).status, 200)
  clock.pass(5000)
  assert.equal((await visit({ ServiceID: DID })).status, 403)
  assert.equal(asked.length, 2)
})

test('cacheSeconds 0 looks the agent up for every request', async (t) => {
  const { service, did, counter } = await start(t)
  const visit = fetchGateway({ service: counter.url, policy: { cacheSeconds: 0 } })
  assert.equal((await visit({ ServiceID: did })).status, 200)
  await setStatus(service, did, 'suspended')
  assert.equal((await visit({ ServiceID: did })).status, 403)
  assert.equal(counter.asked.length, 2)
})

test('unknown agents are cached for the same time', async (t) => {
  const { counter, clock } = await start(t)
  const visit = fetchGateway({ service: counter.url, now: clock.now })
  const unknown = `svc:agent:${'z'.repeat(24)}`
  for (let i = 0; i < 3; i++) assert.equal((await visit({ ServiceID: unknown })).status, 403)
  assert.equal(counter.asked.length, 1)
  clock.pass(5000)
  await visit({ ServiceID: unknown })
  assert.equal(counter.asked.length, 2)
})

test('a text that cannot be a DID causes no lookup', async (t) => {
  const { counter } = await start(t)
  const visit = fetchGateway({ service: counter.url })
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

test('a minimum grade causes a second request, which is cached for as long as the service allows', async (t) => {
  const { did, counter, clock } = await start(t)
  const strict = fetchGateway({
    service: counter.url,
    now: clock.now,
    policy: { minimumGrade: 'B' },
  })
  const { status, decision } = await strict({ ServiceID: did })
  assert.deepEqual([status, decision.grade, decision.reasons[0].code], [403, 'C', 'grade-too-low'])
  assert.match(decision.reasons[0].message, /is C\. This site requires B or better/)
  assert.deepEqual(
    counter.asked.map(({ url }) => url?.split('/').at(-1)).sort(),
    [did, 'grade'].map((each) => each.replaceAll(':', '%3A')).sort(),
  )
  clock.pass(5000)
  await strict({ ServiceID: did })
  assert.equal(counter.asked.length, 3)
  const lax = fetchGateway({ service: counter.url, policy: { minimumGrade: 'C' } })
  assert.equal((await lax({ ServiceID: did })).status, 200)
})

test('the header, the DIDs and the forwarded headers use the names of the deployment', async (t) => {
  const service = await startTestService(t, { SHORT_NAME: 'acme', ID_HEADER: 'AcmeID' })
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const naming = { shortName: 'acme', idHeader: 'AcmeID' }
  const visit = fetchGateway({ service: service.url, naming })
  assert.match(did, /^acme:agent:/)
  assert.equal((await visit({ AcmeID: did })).status, 200)
  const other = await visit({ ServiceID: did })
  assert.equal(other.status, 401)
  assert.equal(other.response.headers.get('vary'), 'AcmeID, Accept')
  assert.match(other.decision.reasons[0].message, /AcmeID/)
  assert.doesNotMatch(JSON.stringify(other.decision), /ServiceID|svc/)
})
