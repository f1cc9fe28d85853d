import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { test } from 'node:test'
import {
  type ApprovalClaims,
  approvalChallenge,
  approvalStatement,
  assertionEvidence,
  decodeBase64Url,
  encodeBase64Url,
  InvalidTokenError,
  type IssuerJwk,
  type JsonRow,
  JsonRowsError,
  jsonRows,
  type RawRequest,
  readApprovalToken,
  textDigest,
  type VerifyWithJwk,
  verifyApprovalToken,
} from '../../src/index.ts'
import { type Case, forEachCase, namingOf, readVectors } from '../support/vectors.ts'

interface RequestCase extends Case {
  readonly request: RawRequest
}

interface Vectors {
  readonly shortName: string
  readonly idHeader: string
  readonly now: number
  readonly issuer: string
  readonly keySet: { readonly keys: readonly IssuerJwk[] }
  readonly valid: readonly (RequestCase & { readonly approval: { readonly id: string } })[]
  readonly invalid: readonly (RequestCase & { readonly reason: string })[]
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

const tokensOf = ({ headers }: RawRequest) =>
  headers.filter(([name]) => name === 'ServiceID-Approval').map(([, value]) => value)

test('the tokens of vectors/approvals.json', async () => {
  for (const { name, request, approval } of vectors.valid) {
    const claims = await claimsOf(tokensOf(request)[0] ?? '')
    assert.equal(typeof claims === 'object' && claims.jti, approval.id, name)
  }
  for (const { name, request, reason } of vectors.invalid) {
    for (const token of tokensOf(request)) {
      assert.equal(
        (await claimsOf(token)) === 'approval-invalid',
        reason === 'approval-invalid',
        name,
      )
    }
  }
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
