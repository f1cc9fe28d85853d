import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Assurance, GradeAnswer } from '@countersign/protocol'
import { jsonOf } from '../../../../test/support/answer.ts'
import { ask } from '../../../../test/support/ask.ts'
import { insertProvenChannel } from '../../../../test/support/channel-rows.ts'
import { gradeChanges, untilGradeChanges } from '../../../../test/support/grade-events.ts'
import {
  claimAgent,
  countersignd,
  startTestService,
  type TestService,
} from '../../../../test/support/service.ts'
import { signIn } from '../../../../test/support/signed-in.ts'
import { agentByTail } from '../../src/agents/agent-table.ts'
import { recordChannelEvent, scheduleExpiry } from '../../src/channels/channel-lifecycle.ts'
import { loadPepper } from '../../src/core/crypto/secrets.ts'
import type { AgentRow, ChannelRow, Tx } from '../../src/core/database/database.ts'
import { unverifyOwner, verifyOwner } from '../../src/identity/record-verification.ts'

const DAY_MS = 86_400_000

/** A service whose clock can be moved, and an agent in it. */
async function scene(t: TestContext, assurance: Assurance = 'substantial') {
  const clock = { ahead: 0 }
  const now = () => Date.now() + clock.ahead
  const service = await startTestService(t, {}, now)
  const owner = await service.operator.addVerifiedOwner('ada', assurance)
  const did = await claimAgent(service, owner)
  const { db } = service.operator
  const told = () => gradeChanges(db.read, did)
  const verify = (provider: string, assurance: Assurance, expiresAt: number | null = null) => {
    const pepper = loadPepper(service.settings.dataDir)
    const verification = { provider, issuer: 'x', subject: 'y', assurance, expiresAt }
    return verifyOwner({ db, now, pepper }, owner, verification)
  }
  const unverify = (provider: string) => unverifyOwner({ db, now }, owner, provider)
  return { service, clock, now, owner, did, db, told, verify, unverify }
}

const domain = { id: 'ch_1', kind: 'domain', handle_or_domain: 'ada.example', tier: 2 } as const

/** Changes a channel of an agent as checks do, and tells of it in the same transaction. */
function changeChannel(
  { operator }: TestService,
  did: string,
  at: number,
  change: (tx: Tx, tail: string) => Promise<unknown>,
  type: Parameters<typeof recordChannelEvent>[2]['type'],
): Promise<void> {
  return operator.db.write(async (tx) => {
    const tail = did.slice(-24)
    await change(tx, tail)
    const agent = (await agentByTail(tx.db, tail)) as AgentRow
    await recordChannelEvent(tx, agent, { channel: domain, type, payload: {}, at })
  })
}

function patch(values: Partial<ChannelRow>) {
  return (tx: Tx) => tx.db.updateTable('channels').set(values).execute()
}

test('a verification that is added, raised or removed is told as a grade, and one that changes nothing is not', async (t) => {
  const { told, verify, unverify } = await scene(t, 'low')
  assert.deepEqual(await told(), [], 'an agent begins with its grade')
  await verify('mitid', 'high')
  assert.deepEqual(await told(), ['D>C'])
  await verify('mitid', 'high')
  await verify('idme', 'substantial')
  await unverify('idme')
  await unverify('in-person')
  assert.deepEqual(await told(), ['D>C'])
  await unverify('mitid')
  assert.deepEqual(await told(), ['D>C', 'C>E'])
})

test('the end of a verification is told on time, though nobody asks', async (t) => {
  const { clock, now, did, db, told, verify } = await scene(t, 'low')
  await verify('mitid', 'high', now() + 30 * DAY_MS)
  clock.ahead = 29 * DAY_MS
  await verify('idme', 'low', now() + 10 * DAY_MS)
  assert.deepEqual(await told(), ['D>C'])
  clock.ahead = 30 * DAY_MS
  await untilGradeChanges(db.read, did, ['D>C', 'C>D'])
  const events = await db.read.selectFrom('events').selectAll().orderBy('seq', 'desc').execute()
  const [changed, ended] = events
  assert.deepEqual(
    [ended?.type, ended?.at === changed?.at, ended?.seq],
    ['owner.identity_expired', true, (changed?.seq ?? 0) - 1],
    'in the same transaction',
  )
})

test('an agent that is claimed begins with the grade of the moment', async (t) => {
  const { service, clock, now, owner, db, verify } = await scene(t, 'low')
  await verify('mitid', 'high', now() + DAY_MS)
  const grade = async (did: string) => (await agentByTail(db.read, did.slice(-24)))?.grade
  assert.equal(await grade(await claimAgent(service, owner)), 'C')
  clock.ahead = DAY_MS
  assert.equal(await grade(await claimAgent(service, owner)), 'D')
})

test('each status has its grade, told with it, whoever sets it', async (t) => {
  const { service, owner, did, told } = await scene(t)
  const ada = await signIn(service, owner)
  const agent = `/api/account/agents/${did}`
  for (const verb of ['suspend', 'reactivate']) await ada.post(`${agent}/${verb}`)
  assert.deepEqual(await told(), ['C>E', 'E>C'])
  const { code, stderr } = await countersignd(service.env, 'agent', 'suspend', did)
  assert.equal(code, 0, stderr)
  assert.equal((await ada.post(`${agent}/revoke`)).status, 200)
  assert.deepEqual(await told(), ['C>E', 'E>C', 'C>E'], 'suspended or revoked: it stays an E')
})

test('a channel that is proven, lost, proven anew or removed changes the grade, in the same transaction', async (t) => {
  const { service, now, owner, did, told } = await scene(t)
  const change = (run: (tx: Tx, tail: string) => Promise<unknown>, type: 'verified' | 'stale') =>
    changeChannel(service, did, now(), run, `channel.${type}`)
  await change((tx, tail) => insertProvenChannel(tx, tail, domain), 'verified')
  assert.deepEqual(await told(), ['C>A'])
  await change(patch({ stale_since: now() }), 'stale')
  assert.deepEqual(await told(), ['C>A', 'A>C'])
  await change(patch({ stale_since: null, verified_at: now() }), 'verified')
  const chat = { kind: 'bluesky', handle_or_domain: 'ada.bsky.social', tier: 1 } as const
  await change((tx, tail) => insertProvenChannel(tx, tail, chat), 'verified')
  assert.deepEqual(await told(), ['C>A', 'A>C', 'C>A'], 'a second, weaker one adds nothing')

  const ada = await signIn(service, owner)
  const gone = await ada.send('DELETE', `/api/account/agents/${did}/channels/ch_1`)
  assert.equal(gone.status, 204, gone.text)
  assert.deepEqual((await told()).slice(3), ['A>B'])
  const answer = jsonOf<GradeAnswer>(await ask(service, `/api/agents/${did}/grade`))
  assert.deepEqual([answer.grade, answer.evidence.channel?.kind], ['B', 'bluesky'])
})

test('the end of a channel is told on time, though nobody asks', async (t) => {
  const { service, clock, now, did, db } = await scene(t)
  const freshUntil = now() + 90 * DAY_MS
  const proven = { ...domain, fresh_until: freshUntil }
  await changeChannel(
    service,
    did,
    now(),
    async (tx, tail) => {
      await insertProvenChannel(tx, tail, proven)
      await scheduleExpiry(tx, domain.id, freshUntil)
    },
    'channel.verified',
  )
  clock.ahead = 90 * DAY_MS
  await untilGradeChanges(db.read, did, ['C>A', 'A>C'])
})

test('what changes the grade of an agent that is suspended is told once it is active again', async (t) => {
  const { service, owner, did, told, verify, unverify } = await scene(t, 'low')
  const ada = await signIn(service, owner)
  await ada.post(`/api/account/agents/${did}/suspend`)
  await verify('mitid', 'high')
  await unverify('in-person')
  assert.deepEqual(await told(), ['D>E'])
  await ada.post(`/api/account/agents/${did}/reactivate`)
  assert.deepEqual(await told(), ['D>E', 'E>C'])
})
