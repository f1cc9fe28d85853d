import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import {
  applyCheckResult,
  type CheckEffect,
  type CheckResult,
  isVerified,
  TOKEN_LIFETIME_MS,
  withJitter,
} from '../../src/channels/channel-state.ts'
import type { ChannelRow } from '../../src/database/database.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const FRESH_FOR = 90 * DAY
const START = Date.UTC(2026, 0, 1)

const KNOWN: CheckResult = { outcome: 'proven', token: 'known', method: 'dns' }
const FRESH: CheckResult = { outcome: 'proven', token: 'fresh', method: 'file' }
const ABSENT: CheckResult = { outcome: 'absent', token: null, method: null }
const UNREACHABLE: CheckResult = { outcome: 'unreachable', token: null, method: null }

function channel(patch: Partial<ChannelRow> = {}): ChannelRow {
  return {
    id: 'ch_1',
    tail: 'tail',
    kind: 'domain',
    handle_or_domain: 'agents.example.com',
    tier: 2,
    created_at: START,
    proof_token: null,
    proof_expires_at: null,
    proven_token: 'old',
    proven_by: 'dns',
    verified_at: START,
    checked_at: START,
    fresh_until: START + FRESH_FOR,
    stale_since: null,
    failures: 0,
    failing_since: null,
    failed_at: null,
    ...patch,
  }
}

const PENDING = {
  proof_token: 'new',
  proof_expires_at: START + TOKEN_LIFETIME_MS,
  proven_token: null,
  proven_by: null,
  verified_at: null,
  checked_at: null,
  fresh_until: null,
} as const

/** A channel, with checks at given hours after its proof. */
class CheckedChannel {
  row: ChannelRow

  constructor(row = channel()) {
    this.row = row
  }

  at(hour: number, result: CheckResult): CheckEffect {
    const after = applyCheckResult(this.row, result, FRESH_FOR, START + hour * HOUR)
    this.row = { ...this.row, ...after.patch }
    return after
  }
}

suite('the expiry after 90 days', () => {
  test('is extended only by a fresh token, which replaces the one before it', () => {
    const expires = START + 95 * DAY
    const checked = new CheckedChannel(channel({ proof_token: 'new', proof_expires_at: expires }))
    for (const day of [87, 88]) checked.at(24 * day, ABSENT)
    const { event, patch, dueAt } = checked.at(24 * 89, FRESH)
    assert.deepEqual([event, dueAt], ['verified', START + 90 * DAY])
    assert.deepEqual(patch, {
      checked_at: START + 89 * DAY,
      failures: 0,
      failing_since: null,
      failed_at: null,
      verified_at: START + 89 * DAY,
      fresh_until: START + 179 * DAY,
      stale_since: null,
      proven_token: 'new',
      proven_by: 'file',
      proof_token: null,
      proof_expires_at: null,
    })
  })
})

suite('the next check', () => {
  test('of an open token comes a few times on the first day, then daily until the token expires', () => {
    const rows = [channel(PENDING), channel({ ...PENDING, verified_at: START, stale_since: START })]
    for (const row of rows) {
      const hours: number[] = []
      for (let at = START; ; ) {
        const { dueAt, event } = applyCheckResult(row, ABSENT, FRESH_FOR, at)
        assert.equal(event, null)
        if (dueAt === null) break
        hours.push((dueAt - START) / HOUR)
        at = dueAt
      }
      assert.deepEqual(hours, [1 / 6, 1, 6, 24, 48, 72, 96, 120, 144])
    }
  })

  test('of a verified channel with an open token comes when the first of both is due', () => {
    const row = channel({ proof_token: 'new', proof_expires_at: START + 8 * DAY })
    const dueAfter = (hours: number) => {
      const { dueAt } = applyCheckResult(row, KNOWN, FRESH_FOR, START + hours * HOUR)
      return ((dueAt as number) - START) / HOUR
    }
    assert.deepEqual([24, 25, 30, 31].map(dueAfter), [24 + 1 / 6, 30, 48, 48])
    assert.equal(dueAfter(8 * 24), 9 * 24, 'the token has expired')
  })

  test('of a daily check has a jitter of less than an hour, and others have none', () => {
    const bytes = (value: number) => (count: number) => new Uint8Array(count).fill(value)
    assert.equal(withJitter(START + DAY, START, bytes(0)), START + DAY)
    const least = withJitter(START + DAY, START, bytes(255)) as number
    assert.ok(least > START + DAY - HOUR && least < START + DAY - 0.99 * HOUR)
    assert.equal(withJitter(START + DAY - 1, START, bytes(255)), START + DAY - 1)
    assert.equal(withJitter(null, START, bytes(255)), null)
  })
})

suite('any sequence of results', () => {
  const result = fc.constantFrom(
    ...([KNOWN, ABSENT, ABSENT, ABSENT, ABSENT, UNREACHABLE, FRESH] as const),
  )
  const pause = fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 0, max: 30 }) },
    { weight: 3, arbitrary: fc.constantFrom(11, 12, 24, 36, 71, 72) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 100 * 24 }) },
  )
  const steps = fc.array(fc.tuple(pause, result), { minLength: 1, maxLength: 60 })

  /** Counts failures, ignoring those within 12 hours of the last one counted. */
  const apart = (hours: readonly number[]) => {
    let count = 0
    let last = Number.NEGATIVE_INFINITY
    for (const hour of hours) {
      if (hour - last < 12) continue
      count++
      last = hour
    }
    return count
  }

  test('makes the channel stale at exactly the third failure over 72 hours; only a fresh token changes it otherwise', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const checked = new CheckedChannel()
        let hour = 0
        let verified = 0
        let absences: number[] = []
        let stale = false
        for (const [wait, seen] of all) {
          hour += wait
          const now = START + hour * HOUR
          const before = checked.row
          const counted = isVerified(before, now)
          assert.equal(counted, !stale && hour - verified < 90 * 24)
          if (seen === FRESH) checked.row = { ...before, ...PENDING, ...proofOf(before) }
          const { event, patch, dueAt } = checked.at(hour, seen)

          if (seen === FRESH) {
            verified = hour
            absences = []
            stale = false
          } else if (seen === KNOWN) absences = []
          else if (seen === ABSENT && counted) absences.push(hour)
          const first = absences[0] ?? hour
          const goes: boolean =
            counted && seen === ABSENT && apart(absences) >= 3 && hour - first >= 72 && !stale
          stale ||= goes

          assert.equal(event, seen === FRESH ? 'verified' : goes ? 'stale' : null)
          assert.equal(checked.row.stale_since !== null, stale)
          assert.equal(checked.row.verified_at, START + verified * HOUR)
          assert.equal(checked.row.fresh_until, START + (verified + 90 * 24) * HOUR)
          if (seen === UNREACHABLE) assert.deepEqual(patch, {})
          const counts = isVerified(checked.row, now)
          assert.equal(dueAt !== null, counts)
          if (dueAt !== null) assert.ok(dueAt > now && dueAt <= now + 24 * HOUR)
        }
      }),
      { numRuns: 2000 },
    )
  })

  /** The columns of the earlier proof, which stay while another token is open. */
  function proofOf({ verified_at, checked_at, fresh_until, proven_token, proven_by }: ChannelRow) {
    return { verified_at, checked_at, fresh_until, proven_token, proven_by }
  }

  test('finds a permanently removed proof 72 hours after the first failure by scheduled checks alone', () => {
    const early = fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 8, maxLength: 8 })
    const transient = fc.array(fc.boolean(), { maxLength: 40 })
    fc.assert(
      fc.property(early, transient, (bytes, unknown) => {
        let row = channel()
        let now = START + DAY
        let first: number | null = null
        for (let i = 0; i < 200; i++) {
          const result = unknown[i] ? UNREACHABLE : ABSENT
          if (result === ABSENT) first ??= now
          const after = applyCheckResult(row, result, FRESH_FOR, now)
          row = { ...row, ...after.patch }
          if (after.event === 'stale') {
            const late = unknown.filter(Boolean).length * HOUR
            assert.ok(first !== null && now - first >= 72 * HOUR)
            if (late === 0) assert.equal(now - first, 72 * HOUR)
            assert.ok(now - first <= 96 * HOUR + late, `${(now - first) / HOUR}`)
            return
          }
          const random = (count: number) => new Uint8Array(count).fill(bytes[i % 8] as number)
          now = withJitter(after.dueAt, now, random) as number
        }
        assert.fail('it never went stale')
      }),
      { numRuns: 1000 },
    )
  })
})
