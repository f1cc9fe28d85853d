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
import { unverifyOwner, verifyOwner } from '../../src/accounts/identity/record-verification.ts'
import { agentByTail } from '../../src/agents/agent-table.ts'
import { changeAgent } from '../../src/agents/changes/change-agent.ts'
import { scheduleExpiry } from '../../src/channels/channel-lifecycle.ts'
import type { ChannelRow, Tx } from '../../src/database/database.ts'
import { loadPepper } from '../../src/secrets/secrets.ts'

const DAY_MS = 86_400_000

/** A service with one agent and a clock that the test can advance. */
async function setUp(t: TestContext, assurance: Assurance = 'substantial') {
  const clock = { ahead: 0 }
  const now = () => Date.now() + clock.ahead
  const service = await startTestService(t, {}, now)
  const owner = await service.operator.addVerifiedOwner('ada', assurance)
  const did = await claimAgent(service, owner)
  const { db } = service.operator
  const changes = () => gradeChanges(db.read, did)
  const verify = (provider: string, assurance: Assurance, expiresAt: number | null = null) => {
    const pepper = loadPepper(service.settings.dataDir)
    const verification = { provider, issuer: 'x', subject: 'y', assurance, expiresAt }
    return verifyOwner({ db, now, pepper }, owner, verification)
  }
  const unverify = (provider: string) => unverifyOwner({ db, now }, owner, provider)
  return { service, clock, now, owner, did, db, changes, verify, unverify }
}

const domain = { id: 'ch_1', kind: 'domain', handle_or_domain: 'ada.example', tier: 2 } as const

/** Changes a channel of an agent and records the event in the same transaction, as checks do. */
function changeChannel(
  { operator }: TestService,
  did: string,
  at: number,
  change: (tx: Tx, tail: string) => Promise<unknown>,
  type: 'channel.verified' | 'channel.stale' | 'channel.removed',
): Promise<void> {
  return operator.db.write(async (tx) => {
    const tail = did.slice(-24)
    await change(tx, tail)
    await changeAgent(tx, tail, { type, channel: domain, reason: 'not-found', isSilent: true }, at)
  })
}

function patch(values: Partial<ChannelRow>) {
  return (tx: Tx) => tx.db.updateTable('channels').set(values).execute()
}

test('a verification that changes the grade records a grade event, and one that does not records none', async (t) => {
  const { changes, verify, unverify } = await setUp(t, 'low')
  assert.deepEqual(await changes(), [], 'a claim records no grade change')
  await verify('mitid', 'high')
  assert.deepEqual(await changes(), ['D>C'])
  await verify('mitid', 'high')
  await verify('idme', 'substantial')
  await unverify('idme')
  await unverify('in-person')
  assert.deepEqual(await changes(), ['D>C'])
  await unverify('mitid')
  assert.deepEqual(await changes(), ['D>C', 'C>E'])
})

test('the expiry of a verification changes the grade on time, without a request', async (t) => {
  const { clock, now, did, db, changes, verify } = await setUp(t, 'low')
  await verify('mitid', 'high', now() + 30 * DAY_MS)
  clock.ahead = 29 * DAY_MS
  await verify('idme', 'low', now() + 10 * DAY_MS)
  assert.deepEqual(await changes(), ['D>C'])
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

test('a new agent gets the grade that its owner has at the time of the claim', async (t) => {
  const { service, clock, now, owner, db, verify } = await setUp(t, 'low')
  await verify('mitid', 'high', now() + DAY_MS)
  const grade = async (did: string) => (await agentByTail(db.read, did.slice(-24)))?.grade
  assert.equal(await grade(await claimAgent(service, owner)), 'C')
  clock.ahead = DAY_MS
  assert.equal(await grade(await claimAgent(service, owner)), 'D')
})

test('a status change by the owner or the operator records the grade change', async (t) => {
  const { service, owner, did, changes } = await setUp(t)
  const ada = await signIn(service, owner)
  const agent = `/api/account/agents/${did}`
  for (const verb of ['suspend', 'reactivate']) await ada.post(`${agent}/${verb}`)
  assert.deepEqual(await changes(), ['C>E', 'E>C'])
  const { code, stderr } = await countersignd(service.env, 'agent', 'suspend', did)
  assert.equal(code, 0, stderr)
  assert.equal((await ada.post(`${agent}/revoke`)).status, 200)
  assert.deepEqual(
    await changes(),
    ['C>E', 'E>C', 'C>E'],
    'the grade of a revoked agent is E, like that of a suspended one',
  )
})

test('a channel that is proven, goes stale, is proven again or is removed changes the grade in the same transaction', async (t) => {
  const { service, now, owner, did, changes } = await setUp(t)
  const change = (run: (tx: Tx, tail: string) => Promise<unknown>, type: 'verified' | 'stale') =>
    changeChannel(service, did, now(), run, `channel.${type}`)
  await change((tx, tail) => insertProvenChannel(tx, tail, domain), 'verified')
  assert.deepEqual(await changes(), ['C>A'])
  await change(patch({ stale_since: now() }), 'stale')
  assert.deepEqual(await changes(), ['C>A', 'A>C'])
  await change(patch({ stale_since: null, verified_at: now() }), 'verified')
  const chat = { kind: 'bluesky', handle_or_domain: 'ada.bsky.social', tier: 1 } as const
  await change((tx, tail) => insertProvenChannel(tx, tail, chat), 'verified')
  assert.deepEqual(await changes(), ['C>A', 'A>C', 'C>A'], 'a second, weaker one adds nothing')

  const ada = await signIn(service, owner)
  const gone = await ada.send('DELETE', `/api/account/agents/${did}/channels/ch_1`)
  assert.equal(gone.status, 204, gone.text)
  assert.deepEqual((await changes()).slice(3), ['A>B'])
  const answer = jsonOf<GradeAnswer>(await ask(service, `/api/agents/${did}/grade`))
  assert.deepEqual([answer.grade, answer.evidence.channel?.kind], ['B', 'bluesky'])
})

test('the expiry of a channel changes the grade on time, without a request', async (t) => {
  const { service, clock, now, did, db } = await setUp(t)
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

test('grade changes of a suspended agent are recorded once it is active again', async (t) => {
  const { service, owner, did, changes, verify, unverify } = await setUp(t, 'low')
  const ada = await signIn(service, owner)
  await ada.post(`/api/account/agents/${did}/suspend`)
  await verify('mitid', 'high')
  await unverify('in-person')
  assert.deepEqual(await changes(), ['D>E'])
  await ada.post(`/api/account/agents/${did}/reactivate`)
  assert.deepEqual(await changes(), ['D>E', 'E>C'])
})
