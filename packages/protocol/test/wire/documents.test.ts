import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TSchema } from 'typebox'
import {
  agentObjectSchema,
  cardSchema,
  claimResponseSchema,
  compactCardSchema,
  didDocumentSchema,
  identifySchema,
  lookupSchema,
  namingFor,
  resolvableDidDocumentSchema,
  verifyResponseSchema,
} from '../../src/index.ts'
import { card, DID, KEY, lookup, TIME } from '../support/documents.ts'
import { assertRefuses, assertRequires, assertTakes } from '../support/schema.ts'

type Document = Readonly<Record<string, unknown>>

interface Case {
  readonly schema: TSchema
  readonly document: Document
  /** Members of the document that are objects, or lists of one, each with all members required. */
  readonly inner?: readonly (readonly [TSchema, Document])[]
  readonly takes?: Document[]
  readonly refuses: Document[]
}

const naming = namingFor()
const agentSchema = agentObjectSchema(naming)
const base = 'https://agents.example'
const links = {
  self: `${base}/api/agents/x`,
  lookup: `${base}/api/v1/agent/x`,
  card: `${base}/api/agents/x/card`,
  compactCard: `${base}/api/v1/agent/x/card`,
  didDocument: `${base}/agent/x/did.json`,
  certificate: `${base}/agent/x`,
}
const agent = {
  ...card,
  publicKey: KEY,
  keyThumbprint: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
  keySequence: 1,
  keyChangedAt: '2026-11-20T00:00:00.000Z',
  didWeb: `did:web:agents.example:agent:${card.svcDid}`,
  identityLevel: 'eid',
  statusChangedAt: TIME,
  statusReason: 'key-compromised',
  updatedAt: TIME,
  maxDelegationDepth: 0,
  links,
}

const id = `did:web:agents.example:agent:${DID}`
const service = [
  {
    id: `${id}#agent-service`,
    type: 'AgentService',
    serviceEndpoint: `https://agents.example/api/agents/${DID}`,
  },
]
const method = {
  id: `${id}#key-1`,
  type: 'Ed25519VerificationKey2020',
  controller: id,
  publicKeyBase64: KEY,
}
const document = {
  '@context': ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/suites/jws-2020/v1'],
  id,
  controller: id,
  verificationMethod: [method],
  authentication: [`${id}#key-1`],
  service,
}
const common = { id: `${id}#key-1`, controller: id }
const resolvable = {
  ...document,
  verificationMethod: [
    { ...common, type: 'Multikey', publicKeyMultibase: 'z6MkhaXg' },
    { ...common, type: 'JsonWebKey', publicKeyJwk: { kty: 'OKP', crv: 'Ed25519', x: 'AA' } },
  ],
  assertionMethod: [],
}

const compact = {
  displayName: 'Ada',
  owner: { displayName: 'Acme', username: 'acme' },
  verificationStatus: 'verified',
  chatHandle: '@ada',
  certificateUrl: 'https://agents.example/agent/ada',
}
const { owner, certificate } = lookup
const identified = {
  svcDid: DID,
  ...lookup,
  identityLevel: 'eid',
  suggestedUse: 'full',
  proofOfPossession: false,
}
const verification = {
  verified: true,
  signatureValid: true,
  certified: true,
  identityLevel: 'eid',
  agent: { svcDid: DID, displayName: 'Ada', status: 'active' },
}
const notNull = (fields: string): Document[] =>
  fields.split(' ').map((field) => ({ [field]: null }))

/** The documents of the contract: all members, values that they may have, and values that they may not. */
const CASES: Readonly<Record<string, Case>> = {
  'the full card (2.4)': {
    schema: cardSchema(naming),
    document: card,
    takes: [
      { username: null },
      { owner: null },
      { verification: null },
      { tier: null },
      { channels: [] },
      { description: '' },
      { description: '\u{1f600}'.repeat(160) },
    ],
    refuses: [
      ...notNull('svcDid displayName description avatarUrl status claimedAt channels grade'),
      ...notNull('gradeIsFallback certificateUrl'),
      { svcDid: DID.slice(4) },
      { svcDid: DID.slice(10) },
      { status: 'deleted' },
      { status: 'Active' },
      { grade: 'F' },
      { grade: 'a' },
      { tier: '2' },
      { tier: 1.5 },
      { gradeIsFallback: 'false' },
      { claimedAt: 'yesterday' },
      { claimedAt: 1767225600000 },
      { avatarUrl: '/avatar/1.png' },
      { certificateUrl: '/agent/ada' },
      { description: 'a'.repeat(161) },
      { owner: { displayName: 'Acme' } },
      { owner: [] },
      { verification: { provider: 'eid', label: 'eID', verifiedAt: null } },
      { verification: { provider: 'eid', verifiedAt: card.claimedAt } },
      { channels: [{ kind: 'domain' }] },
      { channels: {} },
    ],
  },
  'the compact card (2.5)': {
    schema: compactCardSchema(),
    document: compact,
    takes: [
      { verificationStatus: 'claim' },
      { verificationStatus: 'unverified' },
      { chatHandle: '@' },
    ],
    refuses: [
      { verificationStatus: 'active' },
      { chatHandle: 'ada' },
      { owner: null },
      { owner: { displayName: 'Acme' } },
      { certificateUrl: '/agent/ada' },
    ],
  },
  'the agent object': {
    schema: agentSchema,
    document: agent,
    inner: [[agentSchema.properties.links, links]],
    takes: [{ statusReason: null }, { identityLevel: 'unverified' }],
    refuses: [
      { publicKey: KEY.slice(0, -1) },
      { publicKey: null },
      { didWeb: card.svcDid },
      { updatedAt: null },
      { links: null },
      { links: { ...links, self: '/api/agents/x' } },
    ],
  },
  'a lookup (4.1, 2.2 and 2.3)': {
    schema: lookupSchema(naming),
    document: lookup,
    inner: [
      [lookupSchema(naming).properties.owner, owner],
      [lookupSchema(naming).properties.certificate, certificate],
    ],
    takes: [
      { owner: { ...owner, identityMethod: null, identityLevel: 'unverified' } },
      { certificate: { ...certificate, status: 'suspended' } },
      { verified: false, certificate: { ...certificate, status: 'revoked' } },
    ],
    refuses: [
      { verified: null },
      { owner: null },
      { owner: { ...owner, identityLevel: 'eid' } },
      { owner: { ...owner, identityLevel: null } },
      { owner: { ...owner, claimedAt: '2026-01-01' } },
      { certificate: null },
      { certificate: { ...certificate, id: DID.slice(10) } },
      { certificate: { ...certificate, status: 'expired' } },
      { certificate: { ...certificate, verifyUrl: null } },
    ],
  },
  'an identified header (5)': {
    schema: identifySchema(naming),
    document: identified,
    takes: [{ suggestedUse: 'limited' }, { suggestedUse: 'deny' }],
    refuses: [{ suggestedUse: 'allow' }, { suggestedUse: null }, { proofOfPossession: true }],
  },
  'a DID document (4.7)': {
    schema: didDocumentSchema(),
    document: document,
    inner: [[didDocumentSchema().properties.verificationMethod.items, method]],
    takes: [{ authentication: [] }, { authentication: [], verificationMethod: [] }],
    refuses: [
      { id: DID },
      { '@context': 'https://www.w3.org/ns/did/v1' },
      { verificationMethod: [{ ...method, type: 'Multikey' }] },
      { verificationMethod: method },
      { authentication: `${id}#key-1` },
      { service: [{ id: `${id}#agent-service` }] },
    ],
  },
  'a DID document for resolvers': {
    schema: resolvableDidDocumentSchema(),
    document: resolvable,
    refuses: [
      { id: DID },
      { verificationMethod: [{ ...common, type: 'JsonWebKey', publicKeyJwk: 'AA' }] },
      { assertionMethod: null },
    ],
  },
  'a verification (4.3)': {
    schema: verifyResponseSchema(naming),
    document: verification,
    inner: [[verifyResponseSchema(naming).properties.agent, verification.agent]],
    takes: [
      { verified: false },
      { identityLevel: 'unverified' },
      { agent: { ...verification.agent, status: 'suspended' } },
      { agent: { ...verification.agent, status: 'revoked' } },
    ],
    refuses: [
      { verified: 'true' },
      { identityLevel: null },
      { agent: null },
      { agent: { ...verification.agent, status: 'gone' } },
      { agent: { ...verification.agent, svcDid: DID.slice(10) } },
    ],
  },
  'the answer to a claim (4.4)': {
    schema: claimResponseSchema(naming),
    document: { success: true, message: 'Claimed.', svcDid: DID },
    refuses: [{ success: false }, { svcDid: DID.slice(10) }, { message: null }],
  },
}

for (const [name, { schema, document, inner = [], takes = [], refuses }] of Object.entries(CASES)) {
  test(`${name} has every member, and no other values than the contract says`, () => {
    for (const [each, part] of [[schema, document] as const, ...inner]) assertRequires(each, part)
    assertTakes(schema, document, takes)
    assertRefuses(schema, document, refuses)
  })
}

test('every member of the card is one of the agent object, under the same schema', () => {
  const { properties } = cardSchema(naming)
  assert.deepEqual({ ...agentSchema.properties, ...properties }, agentSchema.properties)
})

test('the label stays private: the agent object has no place for agentId', () => {
  assert.equal('agentId' in agentSchema.properties, false)
})
