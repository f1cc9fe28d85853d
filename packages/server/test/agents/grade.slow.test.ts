import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Assurance,
  type Card,
  type CompactCard,
  type GradeAnswer,
  recomputeGrade,
} from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { ask } from '../../../../test/support/ask.ts'
import { giveProfile } from '../../../../test/support/profile.ts'
import { openRaw } from '../../../../test/support/raw-database.ts'
import { claimAgent, startTestService, type TestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { unverifyOwner, verifyOwner } from '../../src/accounts/identity/record-verification.ts'
import { lastSeq } from '../../src/database/event-table.ts'
import { loadPepper } from '../../src/secrets/secrets.ts'

const DAY_MS = 86_400_000

async function gradeAt(service: TestService, did: string): Promise<GradeAnswer> {
  const answer = await ask(service, `/api/agents/${did}/grade`)
  assert.equal(answer.status, 200, answer.text)
  return jsonOf<GradeAnswer>(answer)
}

/** The whole grade table: assurance, channel tier, grade. */
const CELLS: readonly [Assurance | null, 1 | 2 | null, string][] = [
  ['high', 2, 'A'],
  ['substantial', 2, 'A'],
  ['low', 2, 'B'],
  [null, 2, 'C'],
  ['high', 1, 'B'],
  ['substantial', 1, 'B'],
  ['low', 1, 'C'],
  [null, 1, 'D'],
  ['high', null, 'C'],
  ['substantial', null, 'C'],
  ['low', null, 'D'],
  [null, null, 'E'],
]

for (const [assurance, tier, letter] of CELLS) {
  test(`identity ${assurance ?? 'none'} and channel ${tier ?? 'none'} make ${letter}, which anyone recomputes`, async (t) => {
    const service = await startTestService(t)
    const owner = await service.operator.addVerifiedOwner('ada', assurance ?? 'low')
    const did = await claimAgent(service, owner)
    const kind = tier === 2 ? 'domain' : 'bluesky'
    const channels = tier === null ? [] : [{ kind, handleOrDomain: 'ada.example', tier }]
    const { db } = service.operator
    if (assurance === null) await unverifyOwner({ db, now: Date.now }, owner, 'in-person')
    await giveProfile(service, did, { displayName: 'Agent', channels })

    const answer = await gradeAt(service, did)

    assert.equal(answer.grade, letter)
    assert.equal(answer.tier, tier)
    assert.equal(answer.gradeIsFallback, tier === 1)
    assert.equal(answer.evidence.verification?.assurance ?? null, assurance)
    assert.equal(answer.evidence.channel?.kind ?? null, tier === null ? null : kind)
    assert.equal(answer.next === null, letter === 'A')
    const again = recomputeGrade(answer, Date.now())
    assert.deepEqual([again.grade, again.points, again.next], [letter, answer.points, answer.next])
    const card = jsonOf<Card>(await ask(service, `/api/agents/${did}/card`))
    assert.deepEqual([card.grade, card.tier, card.gradeIsFallback], [letter, tier, tier === 1])
  })
}

for (const status of ['suspended', 'revoked'] as const) {
  test(`a ${status} agent is an E, with what is known and no next step`, async (t) => {
    const service = await startTestService(t)
    const did = await claimAgent(service, await service.operator.addVerifiedOwner('ada', 'high'))
    await setStatus(service, did, status)
    const answer = await gradeAt(service, did)
    assert.deepEqual([answer.status, answer.grade, answer.next], [status, 'E', null])
    assert.equal(answer.evidence.verification?.label, 'In person')
    assert.equal(recomputeGrade(answer, Date.now()).grade, 'E')
  })
}

test('the grade drops once its evidence has expired', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner('ada', 'high'))
  const freshUntil = Date.now() + 3_600_000
  const channel = { kind: 'domain', handleOrDomain: 'ada.example', tier: 2, freshUntil } as const
  await giveProfile(service, did, { channels: [channel] })
  const answer = await gradeAt(service, did)
  assert.equal(answer.grade, 'A')
  assert.equal(recomputeGrade(answer, freshUntil - 1).grade, 'A')
  assert.equal(recomputeGrade(answer, freshUntil).grade, 'C')
})

test('a failed or expired channel does not count, and the evidence lists what still counts', async (t) => {
  const clock = { ahead: 0 }
  const now = () => Date.now() + clock.ahead
  const service = await startTestService(t, {}, now)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner('ada', 'high'))
  const chat = { kind: 'bluesky', handleOrDomain: 'ada.bsky.social', tier: 1 } as const
  const freshUntil = now() + 30 * DAY_MS
  const domain = { kind: 'domain', handleOrDomain: 'ada.example', tier: 2, freshUntil } as const
  const a2a = { ...domain, kind: 'a2a', freshUntil: now() + 60 * DAY_MS }
  await giveProfile(service, did, { channels: [chat, a2a] })
  await giveProfile(service, did, { channels: [domain] })
  const expect = async (letter: string, kind: string | null) => {
    const answer = await gradeAt(service, did)
    assert.deepEqual([answer.grade, answer.evidence.channel?.kind ?? null], [letter, kind])
    const again = recomputeGrade(answer, now())
    assert.deepEqual([again.grade, again.tier, again.next], [letter, answer.tier, answer.next])
    const card = jsonOf<Card>(await ask(service, `/api/agents/${did}/card`))
    assert.deepEqual([card.grade, card.tier], [letter, answer.tier])
    return { answer, card }
  }
  await expect('A', 'domain')

  clock.ahead = 30 * DAY_MS
  const { card } = await expect('A', 'a2a')
  assert.deepEqual(
    card.channels,
    [chat, a2a].map(({ kind, handleOrDomain }) => ({ kind, handleOrDomain })),
    'fresh ones only, kind and place and no more',
  )

  // After three failures it does not count any more, even before its expiry.
  await service.operator.db.write((tx) =>
    tx.db.updateTable('channels').set({ stale_since: now() }).where('kind', '=', 'a2a').execute(),
  )
  await giveProfile(service, did, {})
  const { answer } = await expect('B', 'bluesky')
  assert.deepEqual([answer.tier, answer.gradeIsFallback, answer.points.reach], [1, true, 1])
  assert.equal(answer.next?.grade, 'A')

  await service.operator.db.write((tx) => tx.db.deleteFrom('channels').execute())
  await giveProfile(service, did, {})
  await expect('C', null)
})

test('the strongest verification and the strongest channel count, the latest among equals', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner('ada', 'low')
  const did = await claimAgent(service, owner)
  const { db } = service.operator
  const pepper = loadPepper(service.settings)
  const verify = (provider: string, assurance: Assurance) => {
    const verification = { provider, issuer: 'x', subject: 'y', assurance, expiresAt: null }
    return verifyOwner({ db, now: Date.now, pepper }, owner, verification)
  }
  await verify('mitid', 'high')
  await verify('idme', 'substantial')
  await verify('github', 'low')
  const channels = [
    { kind: 'github', handleOrDomain: 'ada', tier: 1 },
    { kind: 'domain', handleOrDomain: 'one.example', tier: 2 },
    { kind: 'domain', handleOrDomain: 'two.example', tier: 2 },
    { kind: 'matrix', handleOrDomain: '@ada:example.org', tier: 1 },
  ] as const
  await giveProfile(service, did, { channels })
  await db.write((tx) =>
    tx.db
      .updateTable('channels')
      .set({ checked_at: Date.now() + 1000 })
      .where('handle_or_domain', '=', 'two.example')
      .execute(),
  )
  const { grade, evidence, gradeIsFallback } = await gradeAt(service, did)
  assert.deepEqual([grade, gradeIsFallback], ['A', false])
  assert.equal(evidence.verification?.provider, 'mitid')
  assert.equal(evidence.channel?.handleOrDomain, 'two.example')
})

test('the date of a successful check shows at once, although the check writes no event', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner('ada', 'high'))
  const channel = { kind: 'domain', handleOrDomain: 'ada.example', tier: 2 } as const
  await giveProfile(service, did, { channels: [channel] })
  const { db } = service.operator
  const last = await lastSeq(db.read)
  const checkedAt = Date.UTC(2031, 1, 3, 4, 5, 6)
  await db.write((tx) => tx.db.updateTable('channels').set({ checked_at: checkedAt }).execute())
  const { evidence } = await gradeAt(service, did)
  assert.equal(evidence.channel?.checkedAt, '2031-02-03T04:05:06.000Z')
  assert.match((await ask(service, `/agent/${did}`)).text, /3 February 2031/)
  assert.equal(await lastSeq(db.read), last)
})

test('channels are listed oldest proof first, before and after a restart', async (t) => {
  const first = await startTestService(t)
  const did = await claimAgent(first, await first.operator.addVerifiedOwner('ada', 'high'))
  const handles = ['one.bsky.social', 'two.bsky.social', 'three.bsky.social']
  await giveProfile(first, did, {
    channels: handles.map((handleOrDomain) => ({ kind: 'bluesky', handleOrDomain, tier: 1 })),
  })
  // The order does not depend on ids.
  await first.operator.db.write(async (tx) => {
    for (const [i, handle] of handles.entries()) {
      const values = { id: `ch_${9 - i}`, verified_at: 1000 + i }
      const channel = tx.db.updateTable('channels').set(values)
      await channel.where('handle_or_domain', '=', handle).execute()
    }
  })
  await giveProfile(first, did, { displayName: 'Told anew' })
  const shown = async (service: TestService) => {
    const card = jsonOf<Card>(await ask(service, `/api/agents/${did}/card`))
    const compact = jsonOf<CompactCard>(await ask(service, `/api/v1/agent/${did}/card`))
    return [card.channels.map(({ handleOrDomain }) => handleOrDomain), compact.chatHandle]
  }
  assert.deepEqual(await shown(first), [handles, '@one.bsky.social'])
  await first.stop()
  const again = await startTestService(t, { DATA_DIR: first.env.DATA_DIR as string })
  assert.deepEqual(await shown(again), [handles, '@one.bsky.social'])
})

test('the grade of an agent without channels needs no query', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner('ada', 'high')
  const [plain, reached] = [await claimAgent(service, owner), await claimAgent(service, owner)]
  const channel = { kind: 'domain', handleOrDomain: 'ada.example', tier: 2 } as const
  await giveProfile(service, reached, { channels: [channel] })
  const other = await openRaw(service.settings)
  t.after(() => other.close())
  await other.exec('ALTER TABLE channels RENAME TO hidden')
  assert.equal((await gradeAt(service, plain)).grade, 'C')
  assert.equal((await ask(service, `/agent/${plain}`)).status, 200)
  // If the database fails, the response is an error, not old dates or an agent without channels.
  assert.ok((await ask(service, `/api/agents/${reached}/grade`)).status >= 500)
})

test('the grade of an unknown agent is not found', async (t) => {
  const service = await startTestService(t)
  assertRefused(await ask(service, `/api/agents/${'1'.repeat(24)}/grade`), 404, 'NOT_FOUND')
  assertRefused(await ask(service, '/api/agents/nobody/grade'), 400, 'VALIDATION_ERROR')
})
