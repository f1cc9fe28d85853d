import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { test } from 'node:test'
import {
  type ApprovalClaims,
  type ApprovalPolicy,
  approvalChallenge,
  approvalStatement,
  assertionEvidence,
  type DelegationPolicy,
  decodeBase64Url,
  encodeBase64Url,
  InvalidTokenError,
  type IssuerJwk,
  type JsonRow,
  JsonRowsError,
  jsonRows,
  type RawRequest,
  type RequestApproval,
  readApprovalToken,
  requestVerifier,
  SIGNATURE_REASONS,
  type SignatureReason,
  textDigest,
  type VerifyWithJwk,
  verifyApprovalToken,
} from '../../src/index.ts'
import { vectors as delegations, optionsOf } from '../support/delegation.ts'
import { requestOf } from '../support/signed-requests.ts'
import { type Case, forEachCase, namingOf, readVectors } from '../support/vectors.ts'

interface RequestCase extends Case {
  readonly request: Omit<RawRequest, 'body'> & { readonly body?: string | null }
  readonly policy?: ApprovalPolicy
}

interface Vectors {
  readonly shortName: string
  readonly idHeader: string
  readonly now: number
  readonly issuer: string
  readonly keySet: { readonly keys: readonly IssuerJwk[] }
  readonly audiences: readonly string[]
  readonly statusList: string
  readonly agents: readonly object[]
  readonly delegation: DelegationPolicy
  readonly policy: ApprovalPolicy
  readonly valid: readonly (RequestCase & { readonly approval: RequestApproval })[]
  readonly invalid: readonly (RequestCase & {
    readonly reason: SignatureReason
    readonly after?: readonly string[]
  })[]
  readonly bodies: {
    readonly valid: readonly (Case & { readonly text: string; readonly rows: readonly JsonRow[] })[]
    readonly invalid: readonly {
      readonly name: string
      readonly why: keyof typeof BODY_FAULTS
      readonly text: string
    }[]
  }
  readonly statements: readonly (Case & {
    readonly shortName?: string
    readonly given: Parameters<typeof approvalStatement>[0]
    readonly statement: string
    readonly challenge: string
    readonly assertion?: Readonly<
      Record<'publicKey' | 'clientData' | 'authenticatorData' | 'signature', string>
    >
    readonly evidence?: string
  })[]
}

const vectors = readVectors<Vectors>('approvals.json')
const { issuer, keySet } = vectors

const verifyWithJwk: VerifyWithJwk = (jwk, message, signature) => {
  const key = createPublicKey({ key: jwk as never, format: 'jwk' })
  return jwk.kty === 'OKP'
    ? verify(null, message, key, signature)
    : verify('sha256', message, { key, dsaEncoding: 'ieee-p1363' }, signature)
}

async function claimsOf(text: string): Promise<ApprovalClaims | 'approval-invalid'> {
  try {
    const token = readApprovalToken(text, namingOf(vectors))
    const expected = { issuer, keys: keySet.keys, now: vectors.now / 1000 }
    await verifyApprovalToken(token, expected, verifyWithJwk)
    return token.claims
  } catch (error) {
    if (error instanceof InvalidTokenError) return 'approval-invalid'
    throw error
  }
}

/** A verifier as a case assumes it: the store of nonces began 600 seconds before, as that of delegations. */
function verifierOf({ policy = vectors.policy }: RequestCase) {
  const { delegation, audiences } = vectors
  const approval = { ...policy, verifyToken: claimsOf }
  return requestVerifier(optionsOf({ delegation }, { audiences, approval }))
}

for (const each of vectors.valid) {
  test(`approved: ${each.name}`, async () => {
    const { reason, approval } = await verifierOf(each)(requestOf(each.request))
    assert.deepEqual([reason, approval], [null, each.approval])
  })
}

for (const each of vectors.invalid) {
  test(`${each.reason}: ${each.name}`, async () => {
    const verify = verifierOf(each)
    for (const earlier of each.after ?? []) {
      const { request } = vectors.valid.find(({ name }) => name === earlier) ?? assert.fail()
      assert.equal((await verify(requestOf(request))).verdict, 'verified')
    }
    const { reason, approval, verdict } = await verify(requestOf(each.request))
    assert.deepEqual([reason, approval], [each.reason, null])
    assert.equal(verdict, SIGNATURE_REASONS[each.reason].verdict)
  })
}

test('they contain every reason that is about an approval', () => {
  const ofApprovals = (reason: string) => reason.startsWith('approval-')
  const shown = new Set(vectors.invalid.map(({ reason }) => reason).filter(ofApprovals))
  assert.deepEqual(shown, new Set(Object.keys(SIGNATURE_REASONS).filter(ofApprovals)))
})

test('the agents and the keys are those of delegation.json, whose verifier runs these requests', () => {
  const { agents, keySet: keys, statusList, now } = delegations
  assert.deepEqual(vectors.agents, agents.slice(0, 2))
  assert.deepEqual([keySet, vectors.statusList, vectors.now], [keys, statusList, now])
})

const BODY_FAULTS = {
  json: /is not JSON/,
  object: /is not a JSON object/,
  names: /has two members/,
  name: /has a (?:name|member)/,
  unicode: /not well-formed Unicode/,
  values: /more than 40 values/,
  levels: /deeper than 5 levels/,
}

test('the bodies of vectors/approvals.json', () => {
  forEachCase(vectors.bodies.valid, ({ text, rows }) => assert.deepEqual(jsonRows(text), rows))
  forEachCase(vectors.bodies.invalid, ({ text, why }) =>
    assert.throws(
      () => jsonRows(text),
      (error) => error instanceof JsonRowsError && BODY_FAULTS[why].test(error.message),
    ),
  )
})

const digestOrNull = (text: string | null) => (text === null ? null : textDigest(text))
const bytes = (text: string) => decodeBase64Url(text) ?? assert.fail('base64url')

test('the statements of vectors/approvals.json', () => {
  forEachCase(vectors.statements, (each) => {
    const { shortName = vectors.shortName, given, assertion } = each
    const { body, message } = given
    const digests = { body: digestOrNull(body), message: digestOrNull(message) }
    const statement = approvalStatement({ ...given, ...digests })
    assert.equal(statement, each.statement)
    assert.equal(encodeBase64Url(approvalChallenge(shortName, statement)), each.challenge)
    if (assertion === undefined) return
    const authenticatorData = bytes(assertion.authenticatorData)
    const [clientData, signature] = [bytes(assertion.clientData), bytes(assertion.signature)]
    const evidence = assertionEvidence({ authenticatorData, clientData, signature })
    assert.equal(evidence, each.evidence)
  })
})
