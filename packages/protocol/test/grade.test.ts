import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  AGENT_STATUSES,
  ASSURANCES,
  type ChannelEvidence,
  GRADE_POLICY_VERSION,
  type GradeInput,
  type GradeResult,
  gradeOf,
  isCurrent,
  isFresh,
  strongestVerification,
  type Tier,
  type VerificationEvidence,
} from '../src/index.ts'
import { type Case, forEachCase, readVectors } from './support/vectors.ts'

type Evidence = Record<'verification' | 'channel', string | null>
interface GradeCase extends Case {
  readonly status: GradeInput['status']
  readonly verifications: string[]
  readonly channels: string[]
  readonly expect: Omit<GradeResult, 'evidence'> & { evidence: Evidence }
}
const vectors = readVectors<{
  now: number
  verifications: Record<string, VerificationEvidence>
  channels: Record<string, ChannelEvidence>
  cases: GradeCase[]
}>('grade.json')

function factOf<T>(facts: Record<string, T>, name: string): T {
  const fact = facts[name]
  assert.ok(fact, `there is a fact ${name}`)
  return fact
}

test('facts and moment give the grade, tier, evidence and next step of the table', () => {
  forEachCase(vectors.cases, ({ status, verifications, channels, expect }) => {
    const { verification, channel } = expect.evidence
    const result = gradeOf({
      status,
      now: vectors.now,
      verifications: verifications.map((name) => factOf(vectors.verifications, name)),
      channels: channels.map((name) => factOf(vectors.channels, name)),
    })
    assert.deepEqual(result, {
      ...expect,
      evidence: {
        verification: verification === null ? null : factOf(vectors.verifications, verification),
        channel: channel === null ? null : factOf(vectors.channels, channel),
      },
    })
  })
})

test('the cases cover each of the nine cells, and are of the policy that is in force', () => {
  const cells = vectors.cases
    .filter((each) => each.name.startsWith('table:'))
    .map(({ expect: { points } }) => `${points.identity}${points.reach}`)
  assert.deepEqual(cells.sort(), ['00', '01', '02', '10', '11', '12', '20', '21', '22'])
  for (const each of vectors.cases) assert.equal(each.expect.policyVersion, GRADE_POLICY_VERSION)
})

const NOW = 1_000_000
const moment = fc.integer({ min: NOW - 50, max: NOW + 50 })
const verification: fc.Arbitrary<VerificationEvidence> = fc.record({
  provider: fc.constantFrom('github', 'eid', 'kyc'),
  assurance: fc.constantFrom(...ASSURANCES),
  verifiedAt: moment,
  expiresAt: fc.option(moment),
})
const channel: fc.Arbitrary<ChannelEvidence> = fc.record({
  kind: fc.constantFrom('domain', 'chat'),
  handleOrDomain: fc.constantFrom('agents.example', '@ada'),
  tier: fc.constantFrom<Tier>(1, 2),
  checkedAt: moment,
  freshUntil: fc.option(moment),
})
const input: fc.Arbitrary<GradeInput> = fc.record({
  status: fc.constantFrom(...AGENT_STATUSES),
  verifications: fc.array(verification, { maxLength: 5 }),
  channels: fc.array(channel, { maxLength: 5 }),
  now: fc.constant(NOW),
})

const check = (property: (input: GradeInput) => void) =>
  fc.assert(fc.property(input, property), { numRuns: 1000 })

test('a fact more never lowers the grade', () => {
  fc.assert(
    fc.property(input, verification, channel, (facts, moreIdentity, moreReach) => {
      const { grade } = gradeOf(facts)
      const verifications = [...facts.verifications, moreIdentity]
      const channels = [...facts.channels, moreReach]
      assert.ok(gradeOf({ ...facts, verifications }).grade <= grade)
      assert.ok(gradeOf({ ...facts, channels }).grade <= grade)
    }),
    { numRuns: 1000 },
  )
})

test('what has expired or gone stale is as good as absent', () => {
  check((facts) => {
    const verifications = facts.verifications.filter((each) => isCurrent(each, NOW))
    const channels = facts.channels.filter((each) => isFresh(each, NOW))
    assert.deepEqual(gradeOf(facts), gradeOf({ ...facts, verifications, channels }))
  })
})

test('the order of the facts does not move the grade, the tier or the next step', () => {
  check((facts) => {
    const reversed = gradeOf({
      ...facts,
      verifications: facts.verifications.toReversed(),
      channels: facts.channels.toReversed(),
    })
    const { evidence: _, ...rest } = gradeOf(facts)
    const { evidence: __, ...reversedRest } = reversed
    assert.deepEqual(reversedRest, rest)
  })
})

test('the letter can be recomputed from the points, and the points from the evidence', () => {
  check((facts) => {
    const { grade, tier, gradeIsFallback, points, evidence } = gradeOf(facts)
    const active = facts.status === 'active'
    assert.equal(grade, active ? 'EDCBA'[points.identity + points.reach] : 'E')
    assert.equal(tier, evidence.channel?.tier ?? null)
    assert.equal(gradeIsFallback, tier === 1)
    assert.equal(points.reach, tier ?? 0)
    const assurance = evidence.verification?.assurance
    assert.equal(points.identity, assurance === undefined ? 0 : assurance === 'low' ? 1 : 2)
  })
})

test('the next step, once taken, reaches the grade that it promises', () => {
  const domain = { kind: 'domain', handleOrDomain: 'b.example', tier: 2 } as const
  check((facts) => {
    const { grade, next } = gradeOf(facts)
    if (next === null) {
      assert.ok(grade === 'A' || facts.status !== 'active')
      return
    }
    assert.ok(next.grade < grade && next.step.endsWith(` to reach ${next.grade}.`))
    const after = next.step.startsWith('Verify a domain')
      ? { channels: [...facts.channels, { ...domain, checkedAt: NOW, freshUntil: null }] }
      : { verifications: [...facts.verifications, substantial] }
    assert.equal(gradeOf({ ...facts, ...after }).grade, next.grade)
  })
})

const substantial: VerificationEvidence = {
  provider: 'eid',
  assurance: 'substantial',
  verifiedAt: NOW,
  expiresAt: null,
}

test('the strongest verification is current, and none is stronger or as strong and newer', () => {
  check(({ verifications }) => {
    const best = strongestVerification(verifications, NOW)
    const current = verifications.filter((each) => isCurrent(each, NOW))
    if (best === null) return assert.equal(current.length, 0)
    assert.ok(current.includes(best))
    const worth = (each: VerificationEvidence) =>
      ASSURANCES.indexOf(each.assurance) * 1e9 + each.verifiedAt
    assert.equal(worth(best), Math.max(...current.map(worth)))
  })
})
