import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import type { FeedHeadClaims, FeedLine } from '@countersign/protocol'
import { certificateOf, decodeJws } from '../../../../../test/support/agent-certificates.ts'
import { ask } from '../../../../../test/support/ask.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import { askForFeed, readSnapshot, referenceIn } from '../../../../../test/support/status-feed.ts'
import { until, untilTicked } from '../../../../../test/support/until.ts'

const LATEST = '/api/v1/feed/latest'

async function latest(service: TestService) {
  const answer = await ask(service, LATEST)
  const lines = answer.text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as FeedLine)
  const head = (lines.pop() as { head: string } | undefined)?.head ?? assert.fail()
  return { answer, lines, claims: decodeJws<FeedHeadClaims>(head).claims }
}

/** The headers of an answer, without those of the connection and the moment. */
function headersOf(answer: Awaited<ReturnType<typeof ask>>) {
  const own = new Set(['connection', 'date', 'keep-alive', 'etag', 'content-length'])
  return [...answer.headers].filter(([name]) => !own.has(name)).toSorted()
}

test('the newest changes and a head are served to everybody in the same bytes, before the router and behind it', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const entry = referenceIn(await certificateOf(service, did))
  await untilTicked(service, async () => (await ask(service, LATEST)).status === 200)
  const { answer } = await latest(service)
  assert.equal(answer.headers.get('content-type'), 'application/x-ndjson')
  assert.equal(answer.headers.get('cache-control'), 'public, max-age=1, stale-while-revalidate=1')
  assert.equal(answer.headers.get('access-control-allow-origin'), '*')

  await setStatus(service, did, 'suspended')
  await setStatus(service, did, 'active')
  await untilTicked(service, async () => (await latest(service)).claims.n === 2)
  const { lines } = await latest(service)
  assert.deepEqual(lines, [
    { n: 1, ...entry, status: 2 },
    { n: 2, ...entry, status: 0 },
  ])
  // A condition sends the request through the router.
  const routed = await ask(service, LATEST, { headers: { 'if-none-match': '"other"' } })
  assert.deepEqual(headersOf(routed), headersOf((await latest(service)).answer))
  await until(async () => {
    const etag = (await ask(service, LATEST)).headers.get('etag') ?? assert.fail()
    const again = await ask(service, LATEST, { headers: { 'if-none-match': etag } })
    // Between the two, another head may have been made.
    return again.status === 304 && again.text === ''
  })
  assert.equal((await ask(service, LATEST, { method: 'HEAD' })).status, 200)

  // What a head has announced is in the snapshot.
  await setStatus(service, did, 'revoked')
  await untilTicked(service, async () => (await latest(service)).claims.n === 3)
  assert.equal((await readSnapshot(service)).claims.n, 3)
})

/** Opens a stream for a client of an address, as a trusted proxy does. @returns its status */
function openStream(t: { after(end: () => unknown): void }, service: TestService, address: string) {
  return new Promise<number>((resolve, reject) => {
    const headers = { accept: 'text/event-stream', 'x-forwarded-for': address }
    const asked = request(`${service.url}/api/v1/feed`, { agent: false, headers })
    asked.on('response', (response) => {
      response.resume().on('error', () => undefined)
      resolve(response.statusCode ?? 0)
    })
    asked.on('error', reject).end()
    t.after(() => asked.destroy())
  })
}

test('strangers who hold all streams keep nobody from reading and polling the feed', async (t) => {
  const service = await startTestService(t, { TRUSTED_PROXIES: '127.0.0.0/8,::1' })
  await untilTicked(service, async () => (await ask(service, LATEST)).status === 200)
  const open = async (address: string) => openStream(t, service, address)
  const statuses: number[] = []
  // From 5 addresses: 20 each.
  for (let i = 0; i < 150; i++) statuses.push(await open(`192.0.2.${i % 5}`))
  assert.equal(statuses.filter((status) => status === 200).length, 40, 'one /24')
  for (let i = 0; i < 970; i++) await open(`10.${i >> 8}.${i & 255}.1`)
  assert.equal(await open('198.51.100.1'), 200, 'in place of one of the /24')
  for (let i = 0; i < 45; i++) await open(`11.0.${i}.1`)
  assert.equal(await open('198.51.101.1'), 503, 'every network has one')
  assert.equal((await ask(service, LATEST)).status, 200)
  assert.equal((await askForFeed(service)).status, 200)
})
