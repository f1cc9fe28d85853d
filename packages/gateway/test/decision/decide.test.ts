import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namingFor } from '@countersign/protocol'
import fc from 'fast-check'
import { testNoteKey } from '../../../../test/support/test-log.ts'
import {
  type Caller,
  decide,
  type LookupResult,
  outcomeOf,
  strictest,
  type Verdict,
} from '../../src/decision/decide.ts'
import type { AgentData, Proof } from '../../src/decision/decision.ts'
import { REASON_MESSAGES } from '../../src/decision/reasons.ts'
import type { PolicyInput, Rules } from '../../src/policy/policy.ts'
import { readPolicy } from '../../src/policy/read-policy.ts'

const DID = `svc:agent:${'A'.repeat(24)}`
const OTHER = `svc:agent:${'B'.repeat(24)}`
const GOOD: AgentData = {
  did: DID,
  status: 'active',
  verified: true,
  identityMethod: 'mitid',
  grade: 'B',
}
const LOG = `log ${testNoteKey('id.example/log/1').verifierKey}\nquorum none\n`
const LOGGED: PolicyInput = { requireLogged: { policy: LOG } }
const NAMED: Caller = { kind: 'named', did: DID, proof: 'none' }
const PROVEN: Caller = { kind: 'named', did: DID, proof: 'session' }

const answered = (agent: Partial<AgentData> | null): LookupResult => ({
  kind: 'answered',
  agent: agent && { ...GOOD, ...agent },
})
const unreachable = (ageSeconds?: number, agent: AgentData | null = GOOD): LookupResult => ({
  kind: 'unreachable',
  last: ageSeconds === undefined ? null : { agent, ageSeconds },
})
const rulesOf = (input: PolicyInput): Rules => readPolicy(input, namingFor())
const judge = (input: PolicyInput, caller: Caller, answer: LookupResult | null) =>
  decide(rulesOf(input), 'ServiceID', caller, answer)

/** `expected`: action, HTTP status of the refusal, level and reason codes. */
type Row = [
  name: string,
  policy: PolicyInput,
  caller: Caller,
  answer: LookupResult | null,
  expected: string,
]

const ROWS: readonly Row[] = [
  ['nobody', {}, { kind: 'none' }, null, 'deny 401 none no-identification'],
  [
    'a key that is too young, on the allow list',
    { allow: [DID], minimumKeyAgeSeconds: 60 },
    PROVEN,
    answered({ keyAgeSeconds: 59.9 }),
    'deny 403 - key-too-young session-proven',
  ],
  [
    'a key that is old enough',
    { minimumKeyAgeSeconds: 60 },
    PROVEN,
    answered({ keyAgeSeconds: 60 }),
    'allow - verified owner-verified session-proven',
  ],
  [
    'a key of unknown age',
    { minimumKeyAgeSeconds: 1 },
    PROVEN,
    answered({}),
    'deny 403 - key-too-young session-proven',
  ],
  [
    'a key that is logged',
    LOGGED,
    PROVEN,
    answered({ logged: new Map([[LOG, 'logged']]) }),
    'allow - verified owner-verified session-proven',
  ],
  [
    'a key that is logged by another policy only, on the allow list',
    { ...LOGGED, allow: [DID] },
    PROVEN,
    answered({ logged: new Map([['other', 'logged']]) }),
    'deny 503 - log-unavailable session-proven',
  ],
  [
    'a key that is not logged, on the allow list',
    { ...LOGGED, allow: [DID], unreachable: 'allow' },
    PROVEN,
    answered({ logged: new Map([[LOG, 'key-not-logged']]) }),
    'deny 403 - key-not-logged session-proven',
  ],
  [
    'a proof that is not valid, in a refusal of its own',
    { ...LOGGED, refusal: { status: 404 } },
    PROVEN,
    answered({ logged: new Map([[LOG, 'log-proof-invalid']]) }),
    'deny 404 - log-proof-invalid session-proven',
  ],
  [
    'a key that is too young and not logged',
    { ...LOGGED, minimumKeyAgeSeconds: 60 },
    PROVEN,
    answered({ keyAgeSeconds: 0, logged: new Map([[LOG, 'key-not-logged']]) }),
    'deny 403 - key-too-young session-proven',
  ],
  [
    'a log that is unavailable, flagged',
    { ...LOGGED, unreachable: 'flag' },
    PROVEN,
    answered({}),
    'flag - verified log-unavailable owner-verified session-proven',
  ],
  [
    'a log that is unavailable, flagged, for a grade that is too low',
    { ...LOGGED, unreachable: 'flag', minimumGrade: 'A' },
    PROVEN,
    answered({}),
    'deny 403 - grade-too-low session-proven',
  ],
  [
    'a log that is unavailable, admitted within the limit',
    { ...LOGGED, unreachable: 'flag' },
    PROVEN,
    answered({ identityMethod: null }),
    'limit - unverified log-unavailable owner-unverified session-proven',
  ],
  [
    'an old answer about a key that is logged',
    { ...LOGGED, unreachable: 'stale' },
    PROVEN,
    unreachable(10, { ...GOOD, logged: new Map([[LOG, 'logged']]) }),
    'allow - verified owner-verified answer-stale session-proven',
  ],
  [
    'an old answer about a key that was never found in the log',
    { ...LOGGED, unreachable: 'stale' },
    PROVEN,
    unreachable(10),
    'deny 503 - log-unavailable answer-stale session-proven',
  ],
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
  ['agent does not exist', {}, NAMED, answered(null), 'deny 403 unknown agent-unknown header-only'],
  ['verified', {}, NAMED, answered({}), 'allow - verified owner-verified header-only'],
  ['proven', {}, PROVEN, answered({}), 'allow - verified owner-verified session-proven'],
  [
    'unverified',
    {},
    NAMED,
    answered({ identityMethod: null }),
    'limit - unverified owner-unverified header-only',
  ],
  [
    'another provider',
    { identityMethods: ['eudi'] },
    NAMED,
    answered({}),
    'limit - unverified provider-not-accepted header-only',
  ],
  [
    'this provider',
    { identityMethods: ['eudi', 'mitid'] },
    NAMED,
    answered({}),
    'allow - verified owner-verified header-only',
  ],
  [
    'suspended',
    {},
    NAMED,
    answered({ status: 'suspended' }),
    'deny 403 - status-refused header-only',
  ],
  [
    'revoked, on the allow list',
    { allow: [DID] },
    NAMED,
    answered({ status: 'revoked' }),
    'deny 403 - status-refused header-only',
  ],
  [
    'suspended, allowed',
    { statuses: ['active', 'suspended'] },
    NAMED,
    answered({ status: 'suspended' }),
    'allow - verified owner-verified header-only',
  ],
  [
    'on the allow list',
    { allow: [DID], minimumGrade: 'A', levels: { unverified: 'deny' } },
    NAMED,
    answered({ identityMethod: null }),
    'allow - - allow-list header-only',
  ],
  [
    'on both lists',
    { allow: [DID], deny: [DID] },
    NAMED,
    answered({}),
    'deny 403 - deny-list header-only',
  ],
  [
    'on the deny list while the service is away',
    { deny: [DID], unreachable: 'allow' },
    NAMED,
    unreachable(1),
    'deny 403 - deny-list header-only',
  ],
  [
    'the grade is enough',
    { minimumGrade: 'B' },
    NAMED,
    answered({}),
    'allow - verified owner-verified header-only',
  ],
  [
    'the grade is too low',
    { minimumGrade: 'A' },
    NAMED,
    answered({}),
    'deny 403 - grade-too-low header-only',
  ],
  [
    'no grade',
    { minimumGrade: 'E' },
    NAMED,
    answered({ grade: null }),
    'deny 403 - grade-unknown header-only',
  ],
  [
    'no proof',
    { requireProof: true, allow: [DID] },
    NAMED,
    answered({}),
    'deny 401 - proof-required header-only',
  ],
  [
    'proof',
    { requireProof: true },
    PROVEN,
    answered({}),
    'allow - verified owner-verified session-proven',
  ],
  ['away, deny', {}, NAMED, unreachable(1), 'deny 503 - service-unreachable header-only'],
  [
    'away, flag',
    { unreachable: 'flag' },
    NAMED,
    unreachable(1),
    'flag - - service-unreachable header-only',
  ],
  [
    'away, allow',
    { unreachable: 'allow' },
    NAMED,
    unreachable(),
    'allow - - service-unreachable header-only',
  ],
  [
    'away, stale',
    { unreachable: 'stale' },
    NAMED,
    unreachable(300),
    'allow - verified owner-verified answer-stale header-only',
  ],
  [
    'away, too stale',
    { unreachable: 'stale' },
    NAMED,
    unreachable(300.1),
    'deny 503 - service-unreachable header-only',
  ],
  [
    'away, nothing known',
    { unreachable: 'stale' },
    NAMED,
    unreachable(),
    'deny 503 - service-unreachable header-only',
  ],
  [
    'away, stale, agent does not exist',
    { unreachable: 'stale' },
    NAMED,
    unreachable(1, null),
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
const proofs = fc.constantFrom<Proof>('none', 'session', 'signature')
const callers: fc.Arbitrary<Caller> = fc.oneof(
  fc.constantFrom<Caller>({ kind: 'none' }, { kind: 'unreadable' }, { kind: 'conflict' }),
  fc.constantFrom<Caller>(
    { kind: 'signature-invalid', status: 400 },
    { kind: 'signature-invalid', status: 401 },
  ),
  fc.record({ kind: fc.constant('named' as const), did: fc.constant(DID), proof: proofs }),
)
const agent = fc.option(
  fc.record({
    did: fc.constant(DID),
    status: fc.constantFrom('active', 'suspended', 'revoked'),
    verified: fc.boolean(),
    identityMethod: fc.constantFrom(null, 'mitid', 'github'),
    grade: fc.constantFrom(null, 'A', 'B', 'C', 'D', 'E'),
  }) as fc.Arbitrary<AgentData>,
)
const answers: fc.Arbitrary<LookupResult> = fc.oneof(
  fc.record({ kind: fc.constant('answered' as const), agent }),
  fc.record({
    kind: fc.constant('unreachable' as const),
    last: fc.option(fc.record({ agent, ageSeconds: fc.double({ min: 0, max: 1e6, noNaN: true }) })),
  }),
)

test('every decision has a reason, and a refusal exactly if the action is deny', () => {
  fc.assert(
    fc.property(policies, callers, fc.option(answers), (policy, caller, answer) => {
      const { action, refusal, reasons } = judge(policy, caller, answer)
      assert.ok(['allow', 'flag', 'limit', 'deny'].includes(action))
      assert.equal(refusal !== null, action === 'deny')
      for (const { code, message } of reasons) {
        assert.ok(code in REASON_MESSAGES)
        assert.match(message, /^[A-Z].*\.$/s)
        assert.doesNotMatch(message, /undefined|null/)
      }
    }),
  )
})

test('the deny list overrides every other rule', () => {
  fc.assert(
    fc.property(policies, proofs, answers, (policy, proof, answer) => {
      const caller: Caller = { kind: 'named', did: DID, proof }
      const verdict = judge({ ...policy, deny: [DID], allow: [DID] }, caller, answer)
      assert.deepEqual([verdict.action, verdict.reasons[0].code], ['deny', 'deny-list'])
    }),
  )
})

test('an agent with a status that is not allowed is never admitted', () => {
  fc.assert(
    fc.property(policies, callers, agent, (policy, caller, given) => {
      const verdict = judge({ ...policy, statuses: ['active'] }, caller, {
        kind: 'answered',
        agent: given,
      })
      const bad = caller.kind === 'named' && given !== null && given.status !== 'active'
      if (bad) assert.equal(verdict.action, 'deny')
    }),
  )
})

test('shadow mode admits every request and reports the decision', () => {
  fc.assert(
    fc.property(policies, callers, fc.option(answers), (policy, caller, answer) => {
      const verdict = judge(policy, caller, answer)
      const decided = (mode: 'enforce' | 'shadow') =>
        outcomeOf({ naming: namingFor(), policy: { mode } }, caller, verdict, null)
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

test('only a session or a signature counts as proof of possession', () => {
  fc.assert(
    fc.property(policies, callers, fc.option(answers), (policy, caller, answer) => {
      const verdict = judge(policy, caller, answer)
      const setting = { naming: namingFor(), policy: { mode: 'enforce' as const } }
      const { decision } = outcomeOf(setting, caller, verdict, null)
      const proof = caller.kind === 'named' ? caller.proof : 'none'
      const codes = verdict.reasons.map(({ code }) => code)
      assert.deepEqual([decision.proof, decision.proofOfPossession], [proof, proof !== 'none'])
      assert.equal(codes.includes('session-proven'), proof === 'session')
      assert.equal(codes.includes('signature-proven'), proof === 'signature')
      assert.equal(codes.includes('header-only'), caller.kind === 'named' && proof === 'none')
    }),
  )
})

test('the strictest of several verdicts applies', () => {
  const allow = judge({}, NAMED, answered({}))
  const limit = judge({}, NAMED, answered({ identityMethod: null }))
  const flag = judge({ unreachable: 'flag' }, NAMED, unreachable())
  const deny = judge({ deny: [DID] }, NAMED, answered({}))
  assert.equal(strictest([allow, flag]), flag)
  assert.equal(strictest([limit, flag]), limit)
  assert.equal(strictest([deny, limit, allow]), deny)
  assert.equal(strictest([allow]), allow)
})
