import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import type { OwnerChannel } from '@countersign/protocol'
import type { Answer } from '../../../../test/support/answer.ts'
import { assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { until as untilTrue } from '../../../../test/support/until.ts'
import {
  addChannel,
  check,
  type Fixture,
  listChannels,
  NAME,
  newProver,
  PLACE,
  type Prover,
  proofField,
  publicView,
  runAction,
  signInAgain,
  startChannelFixture,
} from './support/channel-fixture.ts'
import { channelHistory, DAY, onlyChannel, until } from './support/scheduled-checks.ts'

const FILE = '/.well-known/svc-challenge.txt'

interface PausedCheck {
  readonly clock: { ahead: number }
  readonly fixture: Fixture
  readonly prover: Prover
  readonly channel: OwnerChannel
  readonly path: string
  /** The check in progress, which is about to find the token. */
  readonly checked: Promise<Answer>
  /** Lets it find the token. */
  release(): void
}

/** Starts a check that has requested the file with the token and waits for the response. */
async function pauseCheck(t: { after(end: () => unknown): void }): Promise<PausedCheck> {
  const clock = { ahead: 0 }
  const fixture = await startChannelFixture(t, { clock })
  const prover = await newProver(fixture)
  const channel = await addChannel(prover, 'domain')
  const gate = Promise.withResolvers<void>()
  const line = proofField(channel, 'file')('Line')
  fixture.site.serve(FILE, async (_request, response) => {
    await gate.promise
    response.writeHead(200, { 'content-type': 'text/plain' }).end(line)
  })
  const path = `/api/account/agents/${prover.did}/channels/${channel.id}`
  const checked = prover.owner.post(`${path}/check`)
  await untilTrue(async () => fixture.site.requests.length > 0)
  return { clock, fixture, prover, channel, path, checked, release: gate.resolve }
}

/** Counts the requests for a path that reach any server in this process. */
function requestsFor(t: { after(end: () => unknown): void }, path: string): () => number {
  let count = 0
  const onRequest = (message: unknown) => {
    if ((message as { request: IncomingMessage }).request.url === path) count += 1
  }
  subscribe('http.server.request.start', onRequest)
  t.after(() => unsubscribe('http.server.request.start', onRequest))
  return () => count
}

function rowsOf({ service }: Fixture, table: 'channels' | 'channel_checks' | 'channel_leases') {
  return service.operator.db.read.selectFrom(table).selectAll().execute()
}

test('a token that is replaced during a check proves nothing', async (t) => {
  const { fixture, prover, channel, checked, release } = await pauseCheck(t)
  const renewed = await runAction(prover, channel, 'renew')
  release()
  const answer = await checked
  assert.equal(answer.status, 200, answer.text)
  const after = jsonOf<OwnerChannel>(answer)
  assert.deepEqual([after.state, after.checks], ['pending', []])
  assert.deepEqual(after.proof, renewed.proof, 'the new token is open')
  assert.deepEqual(await channelHistory(fixture, prover), [])
  fixture.site.serve(FILE, { body: proofField(renewed, 'file')('Line') })
  assert.equal((await check(prover, renewed)).state, 'verified')
})

test('a channel that is removed during a check is gone, with its checks and leases', async (t) => {
  const { fixture, prover, path, checked, release } = await pauseCheck(t)
  assert.equal((await prover.owner.send('DELETE', path)).status, 204)
  release()
  assertRefused(await checked, 404, 'NOT_FOUND')
  for (const table of ['channels', 'channel_checks', 'channel_leases'] as const) {
    assert.deepEqual(await rowsOf(fixture, table), [])
  }
  assert.deepEqual(await channelHistory(fixture, prover), [])
  assert.equal((await publicView(fixture, prover)).grade, 'C')
})

test('a channel of an agent that is revoked during a check is not verified', async (t) => {
  const { fixture, prover, checked, release } = await pauseCheck(t)
  await setStatus(fixture.service, prover.did, 'revoked', 'key_compromised')
  release()
  assert.equal(jsonOf<OwnerChannel>(await checked).state, 'pending')
  const [lease] = await rowsOf(fixture, 'channel_leases')
  assert.deepEqual({ ...lease }, { ...lease, due_at: null, leased_by: null, held_until: 0 })
  assert.deepEqual(await channelHistory(fixture, prover), ['agent.grade_changed C E'])
  assert.deepEqual((await publicView(fixture, prover)).channels, [])
})

test('a suspended agent’s channel can be proven and counts after reactivation', async (t) => {
  const { clock, fixture, prover, checked, release } = await pauseCheck(t)
  await setStatus(fixture.service, prover.did, 'suspended', 'abuse')
  release()
  assert.equal(jsonOf<OwnerChannel>(await checked).state, 'verified')
  assert.equal((await publicView(fixture, prover)).grade, 'E')
  const before = await onlyChannel(fixture, prover)
  clock.ahead += DAY
  await until(
    fixture,
    () => onlyChannel(fixture, prover),
    ({ checkedAt }) => checkedAt !== before.checkedAt,
    'it is still checked',
  )
  await setStatus(fixture.service, prover.did, 'active')
  assert.deepEqual(await publicView(fixture, prover), { grade: 'A', channels: [PLACE] })
})

test('concurrent requests for a check run one after another and prove the channel once', async (t) => {
  const { fixture, prover, path, channel, checked, release } = await pauseCheck(t)
  const line = proofField(channel, 'file')('Line')
  let inside = 1
  let most = 1
  fixture.site.serve(FILE, async (_request, response) => {
    inside += 1
    most = Math.max(most, inside)
    await new Promise((resolve) => setImmediate(resolve))
    inside -= 1
    response.writeHead(200, { 'content-type': 'text/plain' }).end(line)
  })
  const arrived = requestsFor(t, `${path}/check`)
  const more = [1, 2, 3].map(() => prover.owner.post(`${path}/check`))
  await untilTrue(async () => arrived() === 3)
  assert.equal(fixture.site.requests.length, 1, 'they wait')
  inside -= 1
  release()
  for (const answer of await Promise.all([checked, ...more])) {
    assert.equal(answer.status, 200, answer.text)
    assert.equal(jsonOf<OwnerChannel>(answer).state, 'verified')
  }
  assert.equal(most, 1)
  assert.deepEqual(await channelHistory(fixture, prover), [
    `channel.verified ${PLACE}`,
    'agent.grade_changed C A',
  ])
})

test('an account that is deleted during a check leaves no channel data', async (t) => {
  const { fixture, prover, checked, release } = await pauseCheck(t)
  const { username } = await fixture.service.operator.db.read
    .selectFrom('owners')
    .select('username')
    .where('id', '=', prover.owner.ownerId)
    .executeTakeFirstOrThrow()
  const deleted = await prover.owner.post('/api/account/deletion', { username })
  assert.equal(deleted.status, 200, deleted.text)
  release()
  assertRefused(await checked, 404, 'NOT_FOUND')
  for (const table of ['channels', 'channel_checks', 'channel_leases'] as const) {
    assert.deepEqual(await rowsOf(fixture, table), [])
  }
})

test('a revoked agent’s channels are not checked and write no events; none can be added, all can be removed', async (t) => {
  const clock = { ahead: 0 }
  const fixture = await startChannelFixture(t, { clock })
  const prover = await newProver(fixture)
  const channel = await addChannel(prover, 'domain')
  fixture.txt(NAME, proofField(channel, 'dns')('Value'))
  await check(prover, channel)
  await addChannel(prover, 'domain', 'other.example.net')
  const path = `/api/account/agents/${prover.did}/channels`
  assert.equal(
    (await prover.owner.post(`/api/account/agents/${prover.did}/revoke`, { reason: 'retired' }))
      .status,
    200,
  )

  for (const { due_at } of await rowsOf(fixture, 'channel_leases')) assert.equal(due_at, null)
  const { read } = fixture.service.operator.db
  assert.deepEqual(await read.selectFrom('jobs').selectAll().execute(), [])
  const asked = fixture.dns[0]?.asked(NAME)
  clock.ahead += 91 * DAY
  const late = await signInAgain(fixture, prover)
  const more = { kind: 'domain', handleOrDomain: 'more.example.net' }
  assertRefused(await late.owner.post(path, more), 400, 'VALIDATION_ERROR', /revoked/)
  for (const action of ['check', 'renew']) {
    const answer = await late.owner.post(`${path}/${channel.id}/${action}`)
    assertRefused(answer, 400, 'VALIDATION_ERROR', /revoked/)
  }
  // Another agent's due check shows that the service has looked for due checks.
  const other = await newProver(fixture)
  await addChannel(other, 'domain', 'else.example.net')
  clock.ahead += DAY
  await until(
    fixture,
    () => onlyChannel(fixture, other),
    ({ checks }) => checks.length > 0,
    'the other channel is checked',
  )
  assert.equal(fixture.dns[0]?.asked(NAME), asked)
  assert.deepEqual(await channelHistory(fixture, prover), [
    `channel.verified ${PLACE}`,
    'agent.grade_changed C A',
    'agent.grade_changed A E',
  ])
  for (const { id } of await listChannels(late)) {
    assert.equal((await late.owner.send('DELETE', `${path}/${id}`)).status, 204)
  }
  assert.deepEqual(await listChannels(late), [])
})
