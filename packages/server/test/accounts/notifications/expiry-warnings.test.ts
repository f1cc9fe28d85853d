import assert from 'node:assert/strict'
import { test } from 'node:test'
import { insertProvenChannel } from '../../../../../test/support/channel-rows.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { verifyOwner } from '../../../src/accounts/identity/record-verification.ts'
import { agentByTail } from '../../../src/agents/agent-table.ts'
import { changeAgent } from '../../../src/agents/changes/change-agent.ts'
import { recordCheck, scheduleExpiry } from '../../../src/channels/channel-lifecycle.ts'
import { applyCheckResult } from '../../../src/channels/channel-state.ts'
import { channelById } from '../../../src/channels/channel-table.ts'
import type { ChannelRow } from '../../../src/database/database.ts'
import { loadPepper } from '../../../src/secrets/secrets.ts'

const DAY_MS = 86_400_000

/** Moves the clock to each day in turn. On each, a run of the warnings is completed, and all jobs that are due have run. */
async function liveFor(
  service: TestService,
  clock: { ahead: number },
  days: readonly number[],
  onDay: (day: number) => Promise<void>,
): Promise<void> {
  const { operator } = service
  const marker = await operator.addVerifiedOwner('marker')
  for (const day of days) {
    clock.ahead = day * DAY_MS
    await onDay(day)
    await completeRun(service, marker, clock)
    const now = Date.now() + clock.ahead
    await untilTicked(service, async () => {
      const due = await operator.db.read
        .selectFrom('jobs')
        .select('id')
        .where('run_at', '<=', now)
        .execute()
      return due.length === 0
    })
  }
}

test('through a year, every loss of a grade has an earlier notification that names its cause', async (t) => {
  const clock = { ahead: 0 }
  const now = () => Date.now() + clock.ahead
  const service = await startTestService(t, {}, now)
  const { operator, settings } = service
  const { db } = operator
  const ownerId = await operator.addVerifiedOwner('ada')
  const verify = (provider: string, days: number) =>
    verifyOwner({ db, now, pepper: loadPepper(settings) }, ownerId, {
      provider,
      issuer: 'issuer',
      subject: `ada at ${provider}`,
      assurance: 'substantial',
      expiresAt: now() + days * DAY_MS,
    })
  // The strongest verification lasts 300 days; the other ones are shorter.
  await db.write((tx) =>
    tx.db.deleteFrom('identity_verifications').where('owner_id', '=', ownerId).execute(),
  )
  await verify('mitid', 300)
  const did = await claimAgent(service, ownerId)
  const tail = did.slice(-24)
  const addDomain = async (handle: string, days: number) => {
    await db.write(async (tx) => {
      const fresh_until = now() + days * DAY_MS
      await insertProvenChannel(tx, tail, {
        kind: 'domain',
        handle_or_domain: handle,
        tier: 2,
        id: handle,
        verified_at: now(),
        fresh_until,
      })
      await scheduleExpiry(tx, handle, fresh_until)
      const channel = { id: handle, kind: 'domain', handle_or_domain: handle, tier: 2 } as const
      await changeAgent(tx, tail, { type: 'channel.verified', channel }, now())
    })
  }
  await addDomain('one.example', 90)
  // Between these days nothing happens: thresholds, losses, and checks that fail.
  const days = [
    60.5,
    83.5,
    89.5,
    90.5,
    120,
    ...[200, 201, 202, 203, 204],
    270.5,
    293.5,
    299.5,
    300.5,
    365,
  ]
  await liveFor(service, clock, days, async (day) => {
    if (day === 120) await addDomain('two.example', 200)
    // From day 200 on, daily checks do not find the second one.
    if (day >= 200 && day <= 204) await checkFails(service, 'two.example', now())
  })

  const rows = await db.read
    .selectFrom('notifications')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .orderBy('created_at')
    .execute()
  const events = await db.read
    .selectFrom('events')
    .selectAll()
    .where('tail', '=', tail)
    .where('type', '=', 'agent.grade_changed')
    .orderBy('seq')
    .execute()
  const changes = events.map(({ at, payload }) => ({ at, ...JSON.parse(payload) }))
  const losses = changes.filter(({ from, to }) => from < to)
  assert.deepEqual(
    losses.map(({ from, to }) => `${from}>${to}`),
    ['A>C', 'A>C', 'C>E'],
  )
  const warnings = ['channel_expiring', 'channel_failing', 'verification_expiring'].map((kind) =>
    rows.filter((row) => row.kind === kind),
  )
  for (const [index, { at }] of losses.entries()) {
    const earlier = (warnings[index] ?? []).filter((row) => row.created_at < at)
    assert.ok(earlier.length > 0, `the loss ${index} was announced`)
    const [first] = earlier
    assert.ok(
      at - (first?.created_at ?? at) >= 2 * DAY_MS,
      `the loss ${index} was announced in time`,
    )
  }
  const count = (kind: string) => rows.filter((row) => row.kind === kind).length
  assert.deepEqual(
    ['verification_expiring', 'verification_expired', 'channel_expiring', 'channel_lost'].map(
      count,
    ),
    [3, 1, 3, 2],
    'one for each threshold and each loss',
  )
  assert.equal(count('channel_failing'), 1)
})

async function checkFails({ operator }: TestService, id: string, at: number): Promise<void> {
  await operator.db.write(async (tx) => {
    const channel = (await channelById(tx.db, id)) as ChannelRow
    const agent = await agentByTail(tx.db, channel.tail)
    if (agent === undefined || channel.stale_since !== null) return
    const result = { outcome: 'absent', token: null, method: null } as const
    const effect = applyCheckResult(channel, result, 200 * DAY_MS, at)
    const observation = { outcome: 'absent', perspectives: [] } as const
    await recordCheck(tx, { agent, channel, effect, observation, at })
  })
}

test('each threshold warns once, a renewal warns again, and a short validity only on its last day', async (t) => {
  const clock = { ahead: 0 }
  const now = () => Date.now() + clock.ahead
  const service = await startTestService(t, {}, now)
  const { operator } = service
  const ownerId = await operator.addVerifiedOwner('ada')
  const marker = await operator.addVerifiedOwner('marker')
  const setExpiry = (days: number) => setValidity(service, ownerId, now(), now() + days * DAY_MS)
  const warningsAfter = async (days: number) => {
    clock.ahead += days * DAY_MS
    await completeRun(service, marker, clock)
    const rows = await operator.db.read
      .selectFrom('notifications')
      .select('id')
      .where('owner_id', '=', ownerId)
      .where('kind', '=', 'verification_expiring')
      .execute()
    return rows.length
  }
  await setExpiry(100)
  assert.equal(await warningsAfter(0), 0)
  assert.equal(await warningsAfter(70.5), 1, '30 days')
  assert.equal(await warningsAfter(0.5), 1, 'once')
  await setExpiry(6.5)
  assert.equal(await warningsAfter(0), 1, 'renewed, for a short time')
  assert.equal(await warningsAfter(5.7), 2, 'its last day')
  await setExpiry(0.1)
  assert.equal(await warningsAfter(0), 3, 'valid for hours')
})

async function setValidity(
  { operator }: TestService,
  ownerId: number,
  verifiedAt: number,
  expiresAt: number,
): Promise<void> {
  await operator.db.write((tx) =>
    tx.db
      .updateTable('identity_verifications')
      .set({ verified_at: verifiedAt, expires_at: expiresAt })
      .where('owner_id', '=', ownerId)
      .execute(),
  )
}

/**
 * Resolves after a run that begins now.
 * @param marker an owner who is warned of the last threshold, 30 days, in the same run
 */
async function completeRun(
  service: TestService,
  marker: number,
  clock: { ahead: number },
): Promise<void> {
  const at = Date.now() + clock.ahead
  const expiresAt = at + 30 * DAY_MS - 1000
  await setValidity(service, marker, at - 300 * DAY_MS, expiresAt)
  // A run of this day may have begun before that, and the next one is a minute later.
  clock.ahead += 61_000
  const { read } = service.operator.db
  await untilTicked(service, async () => {
    const rows = await read
      .selectFrom('notifications')
      .select('id')
      .where('owner_id', '=', marker)
      .where('subject', '=', `in-person:${expiresAt}:30`)
      .execute()
    return rows.length > 0
  })
}
