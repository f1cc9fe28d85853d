import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namingFor } from '@countersign/protocol'
import fc from 'fast-check'
import {
  type Answer,
  type Caller,
  decide,
  strictest,
  type Verdict,
} from '../../src/decision/decide.ts'
import type { Facts } from '../../src/decision/decision.ts'
import { because } from '../../src/decision/reasons.ts'
import { rulingOf } from '../../src/decision/ruling.ts'
import type { PolicyInput, Rules } from '../../src/policy/policy.ts'
import { readPolicy } from '../../src/policy/read-policy.ts'

const DID = `svc:agent:${'A'.repeat(24)}`
const OTHER = `svc:agent:${'B'.repeat(24)}`
const GOOD: Facts = {
  did: DID,
  status: 'active',
  verified: true,
  identityMethod: 'mitid',
  grade: 'B',
}
const NAMED: Caller = { kind: 'named', did: DID, proven: false }
const PROVEN: Caller = { kind: 'named', did: DID, proven: true }

const said = (facts: Partial<Facts> | null): Answer => ({
  kind: 'said',
  facts: facts && { ...GOOD, ...facts },
})
const lost = (ageSeconds?: number, facts: Facts | null = GOOD): Answer => ({
  kind: 'unreachable',
  last: ageSeconds === undefined ? null : { facts, ageSeconds },
})
const rulesOf = (input: PolicyInput): Rules => readPolicy(input, namingFor())
const judge = (input: PolicyInput, caller: Caller, answer: Answer | null) =>
  decide(rulesOf(input), 'ServiceID', caller, answer)

/** action, HTTP status of the refusal, level, codes. */
type Row = [
  name: string,
  policy: PolicyInput,
  caller: Caller,
  answer: Answer | null,
  expected: string,
]

const ROWS: readonly Row[] = [
  ['nobody', {}, { kind: 'none' }, null, 'deny 401 none no-identification'],
  [
    'nobody, let in',
    { levels: { none: 'allow' } },
    { kind: 'none' },
    null,
    'allow - none no-identification',
  ],
  ['unreadable', {}, { kind: 'unreadable' }, null, 'deny 401 unknown identification-unreadable'],
  [
    'conflict',
    { levels: { unknown: 'limit' } },
    { kind: 'conflict' },
    null,
    'limit - unknown identification-conflict',
  ],
  ['no such agent', {}, NAMED, said(null), 'deny 403 unknown agent-unknown header-only'],
  ['verified', {}, NAMED, said({}), 'allow - verified owner-verified header-only'],
  ['proven', {}, PROVEN, said({}), 'allow - verified owner-verified session-proven'],
  [
    'unverified',
    {},
    NAMED,
    said({ identityMethod: null }),
    'limit - unverified owner-unverified header-only',
  ],
  [
    'another provider',
    { identityMethods: ['eudi'] },
    NAMED,
    said({}),
    'limit - unverified provider-not-accepted header-only',
  ],
  [
    'this provider',
    { identityMethods: ['eudi', 'mitid'] },
    NAMED,
    said({}),
    'allow - verified owner-verified header-only',
  ],
  ['suspended', {}, NAMED, said({ status: 'suspended' }), 'deny 403 - status-refused header-only'],
  [
    'revoked, on the allow list',
    { allow: [DID] },
    NAMED,
    said({ status: 'revoked' }),
    'deny 403 - status-refused header-only',
  ],
  [
    'suspended, allowed',
    { statuses: ['active', 'suspended'] },
    NAMED,
    said({ status: 'suspended' }),
    'allow - verified owner-verified header-only',
  ],
  [
    'on the allow list',
    { allow: [DID], minimumGrade: 'A', levels: { unverified: 'deny' } },
    NAMED,
    said({ identityMethod: null }),
    'allow - - allow-list header-only',
  ],
  [
    'on both lists',
    { allow: [DID], deny: [DID] },
    NAMED,
    said({}),
    'deny 403 - deny-list header-only',
  ],
  [
    'on the deny list while the service is away',
    { deny: [DID], unreachable: 'allow' },
    NAMED,
    lost(1),
    'deny 403 - deny-list header-only',
  ],
  [
    'the grade is enough',
    { minimumGrade: 'B' },
    NAMED,
    said({}),
    'allow - verified owner-verified header-only',
  ],
  [
    'the grade is too low',
    { minimumGrade: 'A' },
    NAMED,
    said({}),
    'deny 403 - grade-too-low header-only',
  ],
  [
    'no grade',
    { minimumGrade: 'E' },
    NAMED,
    said({ grade: null }),
    'deny 403 - grade-unknown header-only',
  ],
  [
    'no proof',
    { requireProof: true, allow: [DID] },
    NAMED,
    said({}),
    'deny 401 - proof-required header-only',
  ],
  [
    'proof',
    { requireProof: true },
    PROVEN,
    said({}),
    'allow - verified owner-verified session-proven',
  ],
  ['away, deny', {}, NAMED, lost(1), 'deny 503 - service-unreachable header-only'],
  [
    'away, flag',
    { unreachable: 'flag' },
    NAMED,
    lost(1),
    'flag - - service-unreachable header-only',
  ],
  [
    'away, allow',
    { unreachable: 'allow' },
    NAMED,
    lost(),
    'allow - - service-unreachable header-only',
  ],
  [
    'away, stale',
    { unreachable: 'stale' },
    NAMED,
    lost(300),
    'allow - verified owner-verified answer-stale header-only',
  ],
  [
    'away, too stale',
    { unreachable: 'stale' },
    NAMED,
    lost(300.1),
    'deny 503 - service-unreachable header-only',
  ],
  [
    'away, nothing known',
    { unreachable: 'stale' },
    NAMED,
    lost(),
    'deny 503 - service-unreachable header-only',
  ],
  [
    'away, stale, no such agent',
    { unreachable: 'stale' },
    NAMED,
    lost(1, null),
    'deny 403 unknown agent-unknown answer-stale header-only',
  ],
  [
    'nobody, while the service is away',
    { unreachable: 'allow' },
    { kind: 'none' },
    null,
    'deny 401 none no-identification',
  ],
]

for (const [name, policy, caller, answer, expected] of ROWS) {
  test(`${name}: ${expected}`, () => {
    assert.equal(lineOf(judge(policy, caller, answer)), expected)
  })
}

function lineOf({ action, refusal, level, reasons }: Verdict): string {
  const codes = reasons.map(({ code }) => code).join(' ')
  return `${action} ${refusal?.status ?? '-'} ${level ?? '-'} ${codes}`
}

const action = fc.constantFrom('allow', 'limit', 'deny')
const dids = fc.subarray([DID, OTHER])
const policies = fc.record(
  {
    levels: fc.record({ none: action, unknown: action, unverified: action, verified: action }),
    statuses: fc.subarray(['active', 'suspended', 'revoked']),
    minimumGrade: fc.constantFrom(null, 'A', 'B', 'C', 'D', 'E'),
    identityMethods: fc.constantFrom(null, ['mitid'], ['github']),
    allow: dids,
    deny: dids,
    unreachable: fc.constantFrom('deny', 'flag', 'allow', 'stale'),
    requireProof: fc.boolean(),
    maxStaleSeconds: fc.integer({ min: 0, max: 86_400 }),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<PolicyInput>
const callers: fc.Arbitrary<Caller> = fc.oneof(
  fc.constantFrom<Caller>({ kind: 'none' }, { kind: 'unreadable' }, { kind: 'conflict' }),
  fc.record({ kind: fc.constant('named' as const), did: fc.constant(DID), proven: fc.boolean() }),
)
const facts = fc.option(
  fc.record({
    did: fc.constant(DID),
    status: fc.constantFrom('active', 'suspended', 'revoked'),
    verified: fc.boolean(),
    identityMethod: fc.constantFrom(null, 'mitid', 'github'),
    grade: fc.constantFrom(null, 'A', 'B', 'C', 'D', 'E'),
  }) as fc.Arbitrary<Facts>,
)
const answers: fc.Arbitrary<Answer> = fc.oneof(
  fc.record({ kind: fc.constant('said' as const), facts }),
  fc.record({
    kind: fc.constant('unreachable' as const),
    last: fc.option(fc.record({ facts, ageSeconds: fc.double({ min: 0, max: 1e6, noNaN: true }) })),
  }),
)

test('it decides whatever it is given, with a reason, and a refusal exactly where it refuses', () => {
  fc.assert(
    fc.property(policies, callers, fc.option(answers), (policy, caller, answer) => {
      const { action, refusal, reasons } = judge(policy, caller, answer)
      assert.ok(['allow', 'flag', 'limit', 'deny'].includes(action))
      assert.equal(refusal !== null, action === 'deny')
      for (const { code, message } of reasons) {
        assert.ok(code in because)
        assert.match(message, /^[A-Z].*\.$/s)
        assert.doesNotMatch(message, /undefined|null/)
      }
    }),
  )
})

test('the deny list beats everything', () => {
  fc.assert(
    fc.property(policies, fc.boolean(), answers, (policy, proven, answer) => {
      const caller: Caller = { kind: 'named', did: DID, proven }
      const verdict = judge({ ...policy, deny: [DID], allow: [DID] }, caller, answer)
      assert.deepEqual([verdict.action, verdict.reasons[0].code], ['deny', 'deny-list'])
    }),
  )
})

test('a certificate of a status that is not allowed never gets in by what the service says', () => {
  fc.assert(
    fc.property(policies, callers, facts, (policy, caller, given) => {
      const verdict = judge({ ...policy, statuses: ['active'] }, caller, {
        kind: 'said',
        facts: given,
      })
      const bad = caller.kind === 'named' && given !== null && given.status !== 'active'
      if (bad) assert.equal(verdict.action, 'deny')
    }),
  )
})

test('shadow refuses nobody, and says what it would do', () => {
  fc.assert(
    fc.property(policies, callers, fc.option(answers), (policy, caller, answer) => {
      const verdict = judge(policy, caller, answer)
      const decided = (mode: 'enforce' | 'shadow') =>
        rulingOf({ naming: namingFor(), policy: { mode } }, caller, verdict, null)
      const shadow = decided('shadow')
      const { decision } = decided('enforce')
      assert.equal(shadow.decision.admitted, true)
      assert.equal(decision.admitted, decision.action !== 'deny')
      assert.deepEqual(
        { ...shadow.decision, admitted: decision.admitted, mode: 'enforce' },
        decision,
      )
      assert.equal(shadow.forwarded[0]?.[1], `shadow-${decision.action}`)
    }),
  )
})

test('nothing but a session is called a proof', () => {
  fc.assert(
    fc.property(policies, callers, fc.option(answers), (policy, caller, answer) => {
      const verdict = judge(policy, caller, answer)
      const setting = { naming: namingFor(), policy: { mode: 'enforce' as const } }
      const { decision } = rulingOf(setting, caller, verdict, null)
      const proven = caller.kind === 'named' && caller.proven
      const codes = verdict.reasons.map(({ code }) => code)
      assert.equal(decision.proofOfPossession, proven)
      assert.equal(codes.includes('session-proven'), proven)
      assert.equal(codes.includes('header-only'), caller.kind === 'named' && !proven)
    }),
  )
})

test('of several verdicts the strictest counts', () => {
  const allow = judge({}, NAMED, said({}))
  const limit = judge({}, NAMED, said({ identityMethod: null }))
  const flag = judge({ unreachable: 'flag' }, NAMED, lost())
  const deny = judge({ deny: [DID] }, NAMED, said({}))
  assert.equal(strictest([allow, flag]), flag)
  assert.equal(strictest([limit, flag]), limit)
  assert.equal(strictest([deny, limit, allow]), deny)
  assert.equal(strictest([allow]), allow)
})
