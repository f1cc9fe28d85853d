import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { assertRefused } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { giveProfile } from '../../../../../test/support/profile.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import { type SignedInOwner, signIn } from '../../../../../test/support/signed-in.ts'
import { AGENTS, editAgent, newOwner, startWithAgent } from '../../agents/manage/with-agent.ts'
import { assertShed } from '../../http/limits/overload/support.ts'
import { type EventSource, openStream } from './event-source.ts'

async function open(
  t: TestContext,
  service: TestService,
  owner: SignedInOwner,
  lastEventId?: string,
): Promise<EventSource> {
  const stream = await openStream(service, owner, lastEventId)
  t.after(() => stream.close().catch(() => undefined))
  return stream
}

test("a claim appears in its owner's stream with its label, and in no other stream", async (t) => {
  const service = await startTestService(t)
  const [owner, stranger] = [await newOwner(service), await newOwner(service)]
  const [stream, second] = [await open(t, service, owner), await open(t, service, owner)]
  const others = await open(t, service, stranger)
  assert.match(stream.headers.get('content-type') as string, /^text\/event-stream/)
  assert.equal(stream.headers.get('cache-control'), 'no-store')

  const did = await claimAgent(service, owner.ownerId, newKey(), 'Ärger\u2028label')
  const theirs = await claimAgent(service, stranger.ownerId)

  for (const each of [stream, second]) {
    const event = await each.next()
    assert.equal(event?.event, 'agent.claimed')
    assert.ok(Math.abs(Date.parse(event.data.at as string) - Date.now()) < 60_000)
    const { at: _, ...data } = event.data
    assert.deepEqual(data, { svcDid: did, type: 'agent.claimed', agentId: 'Ärger\u2028label' })
  }
  assert.equal((await others.next())?.data.svcDid, theirs, 'the first that the other is told')
})

test('every change of an agent is sent once and in order, whatever its cause', async (t) => {
  const { service, owner, did } = await startWithAgent(t)
  const stream = await open(t, service, owner)
  await editAgent(owner, did, { displayName: 'Desk' })
  await setStatus(service, did, 'suspended')
  await setStatus(service, did, 'active')
  await owner.post(`${AGENTS}/${did}/suspend`)
  await owner.post(`${AGENTS}/${did}/revoke`)
  const received = []
  const graded = 'grade_changed'
  const kinds = ['updated', 'suspended', graded, 'reactivated', graded, 'suspended', graded]
  const expected = [...kinds, 'revoked'].map((kind) => [`agent.${kind}`, did])
  for (const _ of expected) received.push(await stream.next())
  assert.deepEqual(
    received.map((each) => [each?.event, each?.data.svcDid]),
    expected,
  )
  const numbers = received.map((each) => Number(each?.id))
  assert.deepEqual(
    numbers,
    [...new Set(numbers)].sort((a, b) => a - b),
  )
})

test('channel changes are sent as they happen, with the resulting grade', async (t) => {
  const { service, owner, did } = await startWithAgent(t)
  await giveProfile(service, did, {
    channels: [{ kind: 'domain', handleOrDomain: 'agents.example.com', tier: 2 }],
  })
  const stream = await open(t, service, owner)
  // Its grade was A without an event; now the stored grade is current.
  await service.operator.db.write((tx) => tx.db.updateTable('agents').set({ grade: 'A' }).execute())
  const [channel] = await service.operator.db.read.selectFrom('channels').selectAll().execute()
  const gone = await owner.send('DELETE', `${AGENTS}/${did}/channels/${channel?.id}`)
  assert.equal(gone.status, 204, gone.text)
  for (const type of ['channel.removed', 'agent.grade_changed']) {
    const received = await stream.next()
    assert.deepEqual(
      [received?.event, received?.data.svcDid, received?.data.type],
      [type, did, type],
    )
  }
})

test('a reconnecting client gets the missed events from its last one', async (t) => {
  const { service, owner, did } = await startWithAgent(t)
  const stranger = await newOwner(service)
  const stream = await open(t, service, owner)
  await editAgent(owner, did, { displayName: 'One' })
  const seen = await stream.next()
  await stream.close()

  await claimAgent(service, stranger.ownerId)
  const second = await claimAgent(service, owner.ownerId, newKey(), 'second')
  await editAgent(owner, did, { displayName: 'Two' })
  await editAgent(owner, second, { displayName: 'Three' })

  const again = await open(t, service, owner, seen?.id)
  const expected = [
    ['agent.claimed', second],
    ['agent.updated', did],
    ['agent.updated', second],
  ]
  const received = [await again.next(), await again.next(), await again.next()]
  assert.deepEqual(
    received.map((each) => [each?.event, each?.data.svcDid]),
    expected,
  )
  assert.equal(received[0]?.data.agentId, 'second')
  await editAgent(owner, did, { displayName: 'Four' })
  const next = await again.next()
  assert.ok(
    Number(next?.id) > Number(received[2]?.id),
    'what follows comes after, and nothing twice',
  )

  const fromTheStart = await open(t, service, owner, '0')
  assert.equal((await fromTheStart.next())?.event, 'agent.claimed')
})

test('without a valid Last-Event-ID the stream begins now', async (t) => {
  const { service, owner, did } = await startWithAgent(t)
  const streams = [await open(t, service, owner)]
  for (const id of ['x', '-1', '999999999999', '1e3', '9'.repeat(30)]) {
    streams.push(await open(t, service, owner, id))
  }
  await editAgent(owner, did, { displayName: 'Now' })
  for (const stream of streams) assert.equal((await stream.next())?.event, 'agent.updated')
})

test('events that arrive during the replay are sent once', async (t) => {
  const { service, owner, did } = await startWithAgent(t)
  for (let i = 0; i < 30; i++) await editAgent(owner, did, { displayName: `Before ${i}` })
  const edits = Promise.all(
    Array.from({ length: 30 }, (_, i) => editAgent(owner, did, { displayName: `After ${i}` })),
  )
  const stream = await open(t, service, owner, '0')
  await edits
  const numbers: number[] = []
  for (let i = 0; i < 61; i++) numbers.push(Number((await stream.next())?.id))
  assert.deepEqual(
    numbers,
    [...new Set(numbers)].sort((a, b) => a - b),
  )
})

test('a stream sends a heartbeat every 20 seconds', async (t) => {
  const { service, owner, did } = await startWithAgent(t)
  t.mock.timers.enable({ apis: ['setInterval'] })
  try {
    const stream = await open(t, service, owner)
    for (const [seconds, heartbeats] of [
      [19, 0],
      [1, 1],
      [40, 3],
    ] as const) {
      t.mock.timers.tick(seconds * 1000)
      await editAgent(owner, did, { displayName: `After ${seconds}` })
      assert.equal((await stream.next())?.event, 'agent.updated')
      assert.equal(stream.heartbeats, heartbeats)
    }
  } finally {
    // The service stops its own timers, which are not mocked.
    t.mock.timers.reset()
  }
})

test('a stream ends when its session does, for whatever reason', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service)
  const stream = await open(t, service, owner)
  assert.equal((await owner.post('/api/session/end')).status, 204)
  assert.equal(await stream.next(), null)

  const other = await signIn(service, owner.ownerId)
  const another = await open(t, service, other)
  await service.operator.db.write(async (tx) => {
    await tx.db.updateTable('sessions').set({ expires_at: Date.now() }).execute()
  })
  assert.equal(await another.next(), null)
  assertRefused(
    await ask(service, '/api/account/stream', { headers: { cookie: other.cookie } }),
    401,
    'UNAUTHENTICATED',
  )
})

test('stopping the service ends open streams without waiting for their readers', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service)
  const streams = [await open(t, service, owner), await open(t, service, owner)]
  await service.stop()
  // A connection that was cut would cause an error here.
  for (const stream of streams) assert.equal(await stream.next(), null)
})

test('an owner can have 20 streams, and another after one is closed', async (t) => {
  const service = await startTestService(t)
  const [owner, other] = [await newOwner(service), await newOwner(service)]
  const streams: EventSource[] = []
  for (let i = 0; i < 20; i++) streams.push(await open(t, service, owner))
  const { cookie } = owner
  const target = '/api/account/stream'
  assertShed(await ask(service, target, { headers: { cookie } }))
  await open(t, service, other)
  await streams[0]?.close()
  for (;;) {
    const { status, body } = await fetch(service.url + target, { headers: { cookie } })
    await body?.cancel()
    if (status === 200) break
  }
})

test('HEAD opens no stream', async (t) => {
  const service = await startTestService(t)
  const { cookie } = await newOwner(service)
  const answer = await ask(service, '/api/account/stream', { method: 'HEAD', headers: { cookie } })
  assert.equal(answer.status, 405)
})
