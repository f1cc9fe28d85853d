import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namingFor } from '@countersign/protocol'
import fc from 'fast-check'
import { testNoteKey } from '../../../../test/support/test-log.ts'
import {
  type Caller,
  decide,
  type LookupResult,
  strictest,
  type Verdict,
} from '../../src/decision/decide.ts'
import type { AgentData, Proof } from '../../src/decision/decision.ts'
import { outcomeOf } from '../../src/decision/outcome.ts'
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

/** `expected`: action, HTTP status of the refusal, level and reason codes, without the last one, which says the proof. */
type Row = [
  name: string,
  policy: PolicyInput,
  answer: Partial<AgentData> | null | LookupResult,
  expected: string,
]

type Anonymous = 'none' | 'unreadable' | 'conflict'
const ADMITTED = 'allow - verified owner-verified'
const STALE: PolicyInput = { unreachable: 'stale' }
const logged = (state: 'logged' | 'key-not-logged' | 'log-proof-invalid') => ({
  logged: new Map([[LOG, state]]),
})

/** Callers with a session. */
const PROVEN_ROWS: readonly Row[] = [
  [
    'a young key, allowed',
    { allow: [DID], minimumKeyAgeSeconds: 60 },
    { keyAgeSeconds: 59.9 },
    'deny 403 - key-too-young',
  ],
  ['a key of enough age', { minimumKeyAgeSeconds: 60 }, { keyAgeSeconds: 60 }, ADMITTED],
  ['a key of unknown age', { minimumKeyAgeSeconds: 1 }, {}, 'deny 403 - key-too-young'],
  [
    'an agent that was just transferred, allowed',
    { allow: [DID], minimumOwnerAgeSeconds: 60 },
    { ownerAgeSeconds: 59.9 },
    'deny 403 - owner-too-new',
  ],
  ['a transfer of enough age', { minimumOwnerAgeSeconds: 60 }, { ownerAgeSeconds: 60 }, ADMITTED],
  ['never transferred', { minimumOwnerAgeSeconds: 60 }, { ownerAgeSeconds: null }, ADMITTED],
  ['a transfer of unknown age', { minimumOwnerAgeSeconds: 1 }, {}, 'deny 403 - owner-too-new'],
  [
    'a young key, and just transferred',
    { minimumKeyAgeSeconds: 60, minimumOwnerAgeSeconds: 60 },
    { keyAgeSeconds: 1, ownerAgeSeconds: 1 },
    'deny 403 - key-too-young',
  ],
  [
    'just transferred and not logged',
    { ...LOGGED, minimumOwnerAgeSeconds: 60 },
    { ...logged('key-not-logged'), ownerAgeSeconds: 1 },
    'deny 403 - owner-too-new',
  ],
  ['a logged key', LOGGED, logged('logged'), ADMITTED],
  [
    'logged by another policy only, allowed',
    { ...LOGGED, allow: [DID] },
    { logged: new Map([['other', 'logged']]) },
    'deny 503 - log-unavailable',
  ],
  [
    'a key that is not logged, allowed',
    { ...LOGGED, allow: [DID], unreachable: 'allow' },
    logged('key-not-logged'),
    'deny 403 - key-not-logged',
  ],
  [
    'an invalid proof, in a refusal of its own',
    { ...LOGGED, refusal: { status: 404 } },
    logged('log-proof-invalid'),
    'deny 404 - log-proof-invalid',
  ],
  [
    'a key that is young and not logged',
    { ...LOGGED, minimumKeyAgeSeconds: 60 },
    { keyAgeSeconds: 0, ...logged('key-not-logged') },
    'deny 403 - key-too-young',
  ],
  [
    'no log, flagged',
    { ...LOGGED, unreachable: 'flag' },
    {},
    'flag - verified log-unavailable owner-verified',
  ],
  [
    'no log, flagged, and a low grade',
    { ...LOGGED, unreachable: 'flag', minimumGrade: 'A' },
    {},
    'deny 403 - grade-too-low',
  ],
  [
    'no log, admitted within the limit',
    { ...LOGGED, unreachable: 'flag' },
    { identityMethod: null },
    'limit - unverified log-unavailable owner-unverified',
  ],
  [
    'an old answer, logged',
    { ...LOGGED, unreachable: 'stale' },
    unreachable(10, { ...GOOD, ...logged('logged') }),
    'allow - verified owner-verified answer-stale',
  ],
  [
    'an old answer, never logged',
    { ...LOGGED, unreachable: 'stale' },
    unreachable(10),
    'deny 503 - log-unavailable answer-stale',
  ],
  ['proven', {}, {}, ADMITTED],
  ['proof', { requireProof: true }, {}, ADMITTED],
]

/** Callers that name themselves in the header only. */
const NAMED_ROWS: readonly Row[] = [
  ['agent does not exist', {}, null, 'deny 403 unknown agent-unknown'],
  ['verified', {}, {}, ADMITTED],
  ['unverified', {}, { identityMethod: null }, 'limit - unverified owner-unverified'],
  [
    'another provider',
    { identityMethods: ['eudi'] },
    {},
    'limit - unverified provider-not-accepted',
  ],
  ['this provider', { identityMethods: ['eudi', 'mitid'] }, {}, ADMITTED],
  ['suspended', {}, { status: 'suspended' }, 'deny 403 - status-refused'],
  ['revoked, allowed', { allow: [DID] }, { status: 'revoked' }, 'deny 403 - status-refused'],
  ['suspended, allowed', { statuses: ['active', 'suspended'] }, { status: 'suspended' }, ADMITTED],
  [
    'on the allow list',
    { allow: [DID], minimumGrade: 'A', levels: { unverified: 'deny' } },
    { identityMethod: null },
    'allow - - allow-list',
  ],
  ['on both lists', { allow: [DID], deny: [DID] }, {}, 'deny 403 - deny-list'],
  [
    'away, on the deny list',
    { deny: [DID], unreachable: 'allow' },
    unreachable(1),
    'deny 403 - deny-list',
  ],
  ['the grade is enough', { minimumGrade: 'B' }, {}, ADMITTED],
  ['the grade is too low', { minimumGrade: 'A' }, {}, 'deny 403 - grade-too-low'],
  ['no grade', { minimumGrade: 'E' }, { grade: null }, 'deny 403 - grade-unknown'],
  ['no proof', { requireProof: true, allow: [DID] }, {}, 'deny 401 - proof-required'],
  ['away, deny', {}, unreachable(1), 'deny 503 - service-unreachable'],
  ['away, flag', { unreachable: 'flag' }, unreachable(1), 'flag - - service-unreachable'],
  ['away, allow', { unreachable: 'allow' }, unreachable(), 'allow - - service-unreachable'],
  ['away, stale', STALE, unreachable(300), 'allow - verified owner-verified answer-stale'],
  ['away, too stale', STALE, unreachable(300.1), 'deny 503 - service-unreachable'],
  ['away, nothing known', STALE, unreachable(), 'deny 503 - service-unreachable'],
  [
    'away, stale, no such agent',
    STALE,
    unreachable(1, null),
    'deny 403 unknown agent-unknown answer-stale',
  ],
]

/** Callers that are no agents; nothing is asked about them. */
const UNIDENTIFIED: readonly (readonly [string, PolicyInput, Anonymous, string])[] = [
  ['nobody', {}, 'none', 'deny 401 none no-identification'],
  ['nobody, let in', { levels: { none: 'allow' } }, 'none', 'allow - none no-identification'],
  ['unreadable', {}, 'unreadable', 'deny 401 unknown identification-unreadable'],
  [
    'conflict',
    { levels: { unknown: 'limit' } },
    'conflict',
    'limit - unknown identification-conflict',
  ],
  ['nobody, away', { unreachable: 'allow' }, 'none', 'deny 401 none no-identification'],
]

const ROWS = [
  ...PROVEN_ROWS.map((row) => [...row, PROVEN, ' session-proven'] as const),
  ...NAMED_ROWS.map((row) => [...row, NAMED, ' header-only'] as const),
]

for (const [name, policy, answer, expected, caller, proof] of ROWS) {
  test(`${name}: ${expected}${proof}`, () => {
    const result = answer !== null && 'kind' in answer ? answer : answered(answer)
    assert.equal(lineOf(judge(policy, caller, result)), expected + proof)
  })
}

for (const [name, policy, kind, expected] of UNIDENTIFIED) {
  test(`${name}: ${expected}`, () => {
    assert.equal(lineOf(judge(policy, { kind }, null)), expected)
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
