import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Assurance } from '@countersign/protocol'
import { insertProvenChannel } from '../../../../test/support/channel-rows.ts'
import { gradeChanges, untilGradeChanges } from '../../../../test/support/grade-events.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { verifyOwner } from '../../src/accounts/identity/record-verification.ts'
import { agentByTail } from '../../src/agents/agent-table.ts'
import { changeAgent } from '../../src/agents/changes/change-agent.ts'
import { scheduleExpiry } from '../../src/channels/channel-lifecycle.ts'
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
    const pepper = loadPepper(service.settings)
    const verification = { provider, issuer: 'x', subject: 'y', assurance, expiresAt }
    return verifyOwner({ db, now, pepper }, owner, verification)
  }
  return { service, clock, now, owner, did, db, changes, verify }
}

const domain = { id: 'ch_1', kind: 'domain', handle_or_domain: 'ada.example', tier: 2 } as const

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

test('the expiry of a channel changes the grade on time, without a request', async (t) => {
  const { clock, now, did, db } = await setUp(t)
  const freshUntil = now() + 90 * DAY_MS
  await db.write(async (tx) => {
    const tail = did.slice(-24)
    await insertProvenChannel(tx, tail, { ...domain, fresh_until: freshUntil })
    await scheduleExpiry(tx, domain.id, freshUntil)
    await changeAgent(tx, tail, { type: 'channel.verified', channel: domain }, now())
  })
  clock.ahead = 90 * DAY_MS
  await untilGradeChanges(db.read, did, ['C>A', 'A>C'])
})
