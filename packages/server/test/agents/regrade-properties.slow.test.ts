import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Grade, gradeOf, type Tail, type Tier } from '@countersign/protocol'
import fc from 'fast-check'
import { insertProvenChannel } from '../../../../test/support/channel-rows.ts'
import { JOB_HANDLERS } from '../../../../test/support/job-handlers.ts'
import { newKey } from '../../../../test/support/key.ts'
import { claimBody, openOperator, testEnv } from '../../../../test/support/service.ts'
import { unverifyOwner, verifyOwner } from '../../src/accounts/identity/record-verification.ts'
import {
  evidenceOfVerification,
  verificationsOfOwner,
} from '../../src/accounts/verification-table.ts'
import { agentsOfOwner } from '../../src/agents/agent-table.ts'
import { changeAgent } from '../../src/agents/changes/change-agent.ts'
import { claim } from '../../src/agents/claims/claim.ts'
import { changeStatus } from '../../src/agents/manage/change-status.ts'
import { provenChannels } from '../../src/agents/proven-channel-table.ts'
import { AgentReadModel } from '../../src/agents/read-model/agent-read-model.ts'
import { evidenceOfChannel } from '../../src/agents/read-model/rows.ts'
import { readSettings } from '../../src/base/config.ts'
import { scheduleExpiry } from '../../src/channels/channel-lifecycle.ts'
import { channelsOfAgent, deleteChannel, updateChannel } from '../../src/channels/channel-table.ts'
import type { Tx } from '../../src/database/database.ts'
import { runDueJobs } from '../../src/database/jobs/run-jobs.ts'
import { Ed25519Verifier } from '../../src/secrets/ed25519.ts'
import { loadPepper } from '../../src/secrets/secrets.ts'

const DAY_MS = 86_400_000

const agent = fc.integer({ min: 0, max: 2 })
const provider = fc.constantFrom('mitid', 'idme', 'github')
const days = fc.option(fc.integer({ min: 1, max: 60 }))
const change = fc.oneof(
  fc.record({
    kind: fc.constant('verify' as const),
    provider,
    assurance: fc.constantFrom('low' as const, 'substantial' as const, 'high' as const),
    days,
  }),
  fc.record({ kind: fc.constant('unverify' as const), provider }),
  fc.record({
    kind: fc.constant('status' as const),
    agent,
    to: fc.constantFrom('active' as const, 'suspended' as const),
  }),
  fc.record({ kind: fc.constant('revoke' as const), agent: fc.constant(2) }),
  fc.record({
    kind: fc.constant('prove' as const),
    agent,
    tier: fc.constantFrom<Tier>(1, 2),
    place: fc.constantFrom('one.example', 'two.example'),
    days,
  }),
  fc.record({ kind: fc.constantFrom('stale' as const, 'remove' as const), agent }),
  fc.record({ kind: fc.constant('wait' as const), days: fc.integer({ min: 1, max: 45 }) }),
)
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never

/** An owner with three agents, the service's job handlers, and a clock that the test advances. */
async function setUp(t: TestContext) {
  const clock = { now: Date.now() }
  const now = () => clock.now
  const settings = readSettings(await testEnv(t))
  const operator = await openOperator(settings, now)
  const { db } = operator
  const readModel = new AgentReadModel(db, 100, () => Buffer.alloc(16))
  const pepper = loadPepper(settings)
  const owner = await operator.addVerifiedOwner('ada', 'low')
  const ed25519 = new Ed25519Verifier()
  const { naming, keyReuse } = settings
  const randomBytes = (count: number) => crypto.getRandomValues(new Uint8Array(count))
  const tails: Tail[] = []
  for (let i = 0; i < 3; i++) {
    const body = claimBody(await operator.issueToken(owner), newKey())
    const deps = { db, readModel, ed25519, naming, keyReuse, log: null, now, randomBytes }
    tails.push((await claim(deps, body)).slice(-24) as Tail)
  }
  const runJobs = () =>
    runDueJobs({
      db,
      handlers: JOB_HANDLERS,
      now,
      onFailure: (error) => assert.fail(String(error)),
    })

  const apply = async (each: Change): Promise<void> => {
    clock.now += 1000
    if (each.kind === 'wait') {
      clock.now += each.days * DAY_MS
      return runJobs()
    }
    if (each.kind === 'verify') {
      const { provider, assurance, days } = each
      const expiresAt = days === null ? null : clock.now + days * DAY_MS
      const subject = { provider, issuer: 'x', subject: 'y' }
      await verifyOwner({ db, now, pepper }, owner, { ...subject, assurance, expiresAt })
    } else if (each.kind === 'unverify') {
      await unverifyOwner({ db, now }, owner, each.provider)
    } else if (each.kind === 'status' || each.kind === 'revoke') {
      const to = each.kind === 'revoke' ? 'revoked' : each.to
      const request = { tail: tails[each.agent] as Tail, to, reason: null, by: 'owner' } as const
      // An invalid status transition is rejected and changes nothing.
      await changeStatus({ db, now }, request).catch(() => undefined)
    } else await db.write((tx) => changeChannel(tx, each, tails[each.agent] as Tail, clock.now))
  }
  return { db, clock, owner, apply, close: () => operator.close() }
}

type ChannelChange = Extract<Change, { kind: 'prove' | 'stale' | 'remove' }>

/** Changes a channel as checks and owners do: the row, its expiry job and its event. */
async function changeChannel(tx: Tx, change: ChannelChange, tail: Tail, at: number): Promise<void> {
  const known = await channelsOfAgent(tx.db, tail)
  if (change.kind === 'prove') {
    const { tier, place, days } = change
    const kind = tier === 2 ? 'domain' : 'bluesky'
    const id = `${tail} ${kind} ${place}`
    const fresh_until = days === null ? null : at + days * DAY_MS
    const times = { verified_at: at, checked_at: at, fresh_until, stale_since: null }
    if (known.some((each) => each.id === id)) await updateChannel(tx, id, times)
    else await insertProvenChannel(tx, tail, { id, kind, handle_or_domain: place, tier, ...times })
    await scheduleExpiry(tx, id, fresh_until)
    const channel = { id, kind, handle_or_domain: place, tier } as const
    await changeAgent(tx, tail, { type: 'channel.verified', channel }, at)
    return
  }
  const [channel] = known
  if (channel === undefined) return
  if (change.kind === 'stale') await updateChannel(tx, channel.id, { stale_since: at })
  else await deleteChannel(tx, channel.id)
  await scheduleExpiry(tx, channel.id, null)
  const type = change.kind === 'stale' ? 'channel.stale' : 'channel.removed'
  await changeAgent(tx, tail, { type, channel, reason: 'not-found', isSilent: true }, at)
}

test('after any sequence of changes, the last recorded grade equals the computed grade', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 25 }), async (changes) => {
      const { db, clock, owner, apply, close } = await setUp(t)
      try {
        for (const each of changes) await apply(each)
        const verifications = (await verificationsOfOwner(db.read, owner)).map(
          evidenceOfVerification,
        )
        const gradeEvents = await db.read
          .selectFrom('events')
          .select(['tail', 'payload'])
          .where('type', '=', 'agent.grade_changed')
          .orderBy('seq')
          .execute()
        for (const { tail, status, grade } of await agentsOfOwner(db.read, owner)) {
          const channels = (await provenChannels(db.read, tail)).map(evidenceOfChannel)
          const input = { status, verifications, channels, now: clock.now }
          assert.equal(grade, gradeOf(input).grade, 'recorded and computed grade')
          // The owner had low assurance at the claim, which is a D. Each event starts from the grade of the previous one.
          let last: Grade = 'D'
          for (const { payload } of gradeEvents.filter((each) => each.tail === tail)) {
            const { from, to } = JSON.parse(payload) as { from: Grade; to: Grade }
            assert.equal(from, last)
            assert.notEqual(to, from)
            last = to
          }
          assert.equal(grade, last)
        }
      } finally {
        await close()
      }
    }),
    { numRuns: 60 },
  )
})
