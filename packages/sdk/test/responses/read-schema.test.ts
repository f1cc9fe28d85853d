import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namingFor } from '@countersign/protocol'
import { Check } from 'typebox/value'
import { DID, lookupBody } from '../../../../test/support/impostor.ts'
import { readerOf, UnexpectedShape } from '../../src/responses/read-schema.ts'
import * as schemas from '../../src/responses/schemas.ts'

type Schema = Readonly<Record<string, unknown>>

const AT = '2026-01-02T03:04:05.678Z'
const URL_TEXT = 'https://id.example/x'
const card = {
  svcDid: DID,
  displayName: 'Zoë',
  username: null,
  description: '📦'.repeat(160),
  avatarUrl: URL_TEXT,
  status: 'active',
  claimedAt: AT,
  owner: { displayName: 'Ada', username: 'ada' },
  verification: { provider: 'in-person', label: 'In person', verifiedAt: AT },
  channels: [{ kind: 'domain', handleOrDomain: 'agent.example' }],
  grade: 'A',
  tier: 2,
  gradeIsFallback: false,
  certificateUrl: URL_TEXT,
}
const key = `${'A'.repeat(43)}=`

/** A valid body for each schema. */
const BODIES: Readonly<Record<keyof typeof schemas, object>> = {
  LOOKUP: lookupBody(),
  CARD: card,
  COMPACT_CARD: {
    displayName: 'Zoë',
    owner: card.owner,
    verificationStatus: 'verified',
    chatHandle: '@zoe',
    certificateUrl: URL_TEXT,
  },
  AGENT_OBJECT: {
    ...card,
    publicKey: key,
    keyThumbprint: 'x',
    keySequence: 1,
    keyChangedAt: AT,
    didWeb: `did:web:id.example:agent:${DID}`,
    identityLevel: 'in-person',
    statusChangedAt: AT,
    statusReason: null,
    updatedAt: AT,
    links: {
      self: URL_TEXT,
      lookup: URL_TEXT,
      card: URL_TEXT,
      compactCard: URL_TEXT,
      didDocument: URL_TEXT,
      certificate: URL_TEXT,
    },
  },
  VERIFICATION: {
    verified: true,
    signatureValid: true,
    certified: true,
    identityLevel: 'unverified',
    agent: { svcDid: DID, displayName: 'Zoë', status: 'suspended' },
  },
  DID_DOCUMENT: {
    '@context': ['https://www.w3.org/ns/did/v1'],
    id: `did:web:id.example:agent:${DID}`,
    controller: 'x',
    verificationMethod: [
      { id: 'x#key-1', type: 'Ed25519VerificationKey2020', controller: 'x', publicKeyBase64: key },
    ],
    authentication: ['x#key-1'],
    service: [{ id: 'x', type: 'y', serviceEndpoint: URL_TEXT }],
  },
  GRADE_REPORT: {
    svcDid: DID,
    status: 'active',
    policyVersion: 1,
    grade: 'B',
    tier: 1,
    gradeIsFallback: true,
    points: { identity: 2, reach: 1 },
    evidence: {
      verification: {
        provider: 'in-person',
        label: 'In person',
        assurance: 'high',
        verifiedAt: AT,
        expiresAt: null,
      },
      channel: {
        kind: 'runtime',
        handleOrDomain: 'home',
        tier: 1,
        checkedAt: AT,
        freshUntil: AT,
      },
    },
    next: { grade: 'A', step: 'Verify a domain.' },
  },
  GRANT: {
    assertion: 'a.b.c',
    grantType: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    issuer: URL_TEXT,
    expiresAt: AT,
  },
  CLAIMED: { success: true, message: 'Claimed.', svcDid: DID },
  RENOUNCED: {
    svcDid: DID,
    status: 'revoked',
    statusReason: 'renounced_by_agent',
    statusChangedAt: AT,
  },
  DIRECTORY_PROOF: { svcDid: DID, keyid: 'A'.repeat(43), expiresAt: AT },
  ROTATED: { svcDid: DID, keySequence: 2, keyChangedAt: AT },
  RECOVERING: { svcDid: DID, keySequence: 2, effectiveAt: AT },
  VETOED: { svcDid: DID, keySequence: 1 },
  AGENT_KEYS: {
    svcDid: DID,
    keySequence: 1,
    keyChangedAt: AT,
    keys: [
      {
        sequence: 1,
        keyThumbprint: 'x',
        from: AT,
        until: null,
        state: 'current',
        changedBy: 'claim',
      },
    ],
    recovery: {
      reason: 'key_lost',
      startedAt: AT,
      redeemedAt: AT,
      effectiveAt: AT,
      keyThumbprint: 'y',
    },
  },
  RUNTIME_CHALLENGE: { challenge: 'svc-challenge-v1:https://id.example:n', expiresAt: AT },
  RUNTIME_PROOF: {
    svcDid: DID,
    kind: 'runtime',
    handleOrDomain: 'home',
    verifiedAt: AT,
    checkedAt: AT,
    freshUntil: AT,
    grade: 'B',
  },
  CERTIFICATE_CLAIMS: {
    iss: URL_TEXT,
    sub: DID,
    iat: 1,
    exp: 2,
    jti: 'x',
    vct: URL_TEXT,
    cnf: { jwk: { kty: 'OKP', crv: 'Ed25519', x: 'A'.repeat(43) } },
    status: { status_list: { uri: URL_TEXT, idx: 1 } },
    identityMethod: 'in-person',
    identityLevel: 'verified',
    assurance: 'high',
    grade: 'B',
    policyVersion: 1,
    keySequence: 1,
    keyChangedAt: AT,
    did_web: 'did:web:x',
  },
  STAPLE_CLAIMS: {
    iss: URL_TEXT,
    sub: DID,
    cnf: { jkt: 'A'.repeat(43) },
    agentStatus: 'active',
    grade: 'B',
    iat: 1,
    exp: 2,
  },
  FEED_CHANGE: { seq: 1, at: 1, list: 1, idx: 1, status: 1 },
  FEED_HEAD_CLAIMS: { iss: URL_TEXT, iat: 1, exp: 2, epoch: 'x', seq: 1, asOf: 1, digest: 'x' },
  SNAPSHOT: { manifest: 'x', head: 'x', lists: [{ list: 1, lst: 'x' }] },
  SNAPSHOT_CLAIMS: {
    iss: URL_TEXT,
    iat: 1,
    exp: 2,
    epoch: 'x',
    seq: 1,
    asOf: 1,
    digest: 'A'.repeat(43),
    lists: [{ list: 1, hash: 'A'.repeat(43) }],
  },
}

const OTHERS = [
  ...[undefined, null, true, false, 0, 1, 2, 3, -1, 1.5, '', 'x', 'active', 'A', '@x', [], {}],
  ...[[null], [{}], AT, '2026-13-01T00:00:00Z', DID, `acme:agent:${'A'.repeat(24)}`, `${DID}A`],
  ...[URL_TEXT, '/x', `did:web:x`, key, `${'A'.repeat(42)}B=`, 'x'.repeat(161), '📦'.repeat(161)],
]

/** Every way to drop one member of a body, or to replace it by another value, at any depth. */
function* variants(value: unknown): Generator<unknown> {
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    for (const item of variants(value[0])) yield [item]
    return
  }
  for (const [name, member] of Object.entries(value)) {
    const { [name]: _, ...rest } = value as Record<string, unknown>
    yield rest
    for (const other of OTHERS) yield { ...value, [name]: other }
    for (const variant of variants(member)) yield { ...value, [name]: variant }
  }
}

function isReadable(schema: object, body: unknown): boolean {
  try {
    readerOf(schema, namingFor())(body)
    return true
  } catch (error) {
    if (error instanceof UnexpectedShape) return false
    throw error
  }
}

for (const [name, schema] of Object.entries(schemas)) {
  test(`${name}: the reader accepts exactly what typebox accepts`, () => {
    const body = BODIES[name as keyof typeof schemas]
    const bodies = [body, ...OTHERS, ...[...variants(body)]]
    let accepted = 0
    for (const each of bodies) {
      // JSON has no undefined.
      const sent: unknown = each === undefined ? null : JSON.parse(JSON.stringify(each))
      const expected = Check(schema, sent)
      assert.equal(isReadable(schema, sent), expected, JSON.stringify(sent))
      if (expected) accepted += 1
    }
    assert.ok(isReadable(schema, body))
    assert.ok(accepted >= 1 && accepted < bodies.length / 2)
  })
}

test('the wire schemas use no keyword that the reader ignores', () => {
  const checked = 'type enum const pattern format maxLength minimum maximum items properties'
  const known = new Set([...checked.split(' '), 'required', 'description'])
  const inspect = (schema: Schema): void => {
    for (const keyword of Object.keys(schema)) assert.ok(known.has(keyword), keyword)
    const properties = (schema.properties ?? {}) as Record<string, Schema>
    for (const property of Object.values(properties)) inspect(property)
    if (schema.items) inspect(schema.items as Schema)
    if (schema.format) assert.ok(['date-time', 'uri'].includes(String(schema.format)))
  }
  for (const schema of Object.values(schemas)) inspect(schema as unknown as Schema)
})

test('fields that the schema does not know are left out', () => {
  const { certificate, ...rest } = lookupBody()
  const body = { ...rest, certificate: { ...certificate, more: 1 }, planned: true }
  assert.deepEqual(readerOf(schemas.LOOKUP, namingFor())(body), lookupBody())
})

test('the DID is `did`, whatever the deployment calls the field', () => {
  const did = `acme:agent:${'A'.repeat(24)}`
  const { svcDid, ...rest } = card
  const expected = { did, ...rest }
  for (const naming of [namingFor('acme'), null]) {
    assert.deepEqual(readerOf(schemas.CARD, naming)({ acmeDid: did, ...rest }), expected)
  }
})

test('a reader for any deployment refuses a body without one DID of its field', () => {
  const { svcDid, ...rest } = card
  const read = readerOf(schemas.CARD, null)
  const bodies = [
    rest,
    { ...rest, acmeDid: svcDid },
    { ...rest, svcDid: `${svcDid}A` },
    { ...rest, Did: svcDid },
    { ...rest, svcDid, acmeDid: svcDid },
  ]
  for (const body of bodies) assert.throws(() => read(body), UnexpectedShape, JSON.stringify(body))
})

test('an inherited property is not a field', () => {
  const schema = { type: 'object', properties: { toString: {} } }
  assert.throws(() => readerOf(schema, namingFor())({}), /body\.toString/)
})

test('the error names the path of the first value that does not match', () => {
  const read = readerOf(schemas.VERIFICATION, namingFor())
  const body = BODIES.VERIFICATION as { agent: object }
  const cases: [unknown, string][] = [
    [null, 'body'],
    [[], 'body'],
    [{ ...body, verified: 1 }, 'body.verified'],
    [{ ...body, agent: { ...body.agent, status: 'Active' } }, 'body.agent.status'],
    [{ ...body, agent: { ...body.agent, svcDid: 'svc:agent:1' } }, 'body.agent.svcDid'],
    [{ ...body, agent: { displayName: 'X', status: 'active' } }, 'body.agent.svcDid'],
  ]
  for (const [sent, path] of cases) {
    assert.throws(() => read(sent), { message: new RegExp(`\\(see ${path}\\)$`) }, path)
  }
})
