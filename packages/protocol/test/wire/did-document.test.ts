import { test } from 'node:test'
import { didDocumentSchema, resolvableDidDocumentSchema } from '../../src/index.ts'
import { DID, KEY } from '../support/documents.ts'
import { assertRefuses, assertRequires, assertTakes } from '../support/schema.ts'

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

test('a DID document has every member of contract 4.7', () => {
  assertRequires(didDocumentSchema(), document)
  assertRequires(didDocumentSchema().properties.verificationMethod.items, method)
})

test('a suspended agent authenticates with nothing, a revoked one has no key', () => {
  assertTakes(didDocumentSchema(), document, [
    { authentication: [] },
    { authentication: [], verificationMethod: [] },
  ])
})

test('a DID document of another shape is refused', () => {
  assertRefuses(didDocumentSchema(), document, [
    { id: DID },
    { '@context': 'https://www.w3.org/ns/did/v1' },
    { verificationMethod: [{ ...method, type: 'Multikey' }] },
    { verificationMethod: method },
    { authentication: `${id}#key-1` },
    { service: [{ id: `${id}#agent-service` }] },
  ])
})

const common = { id: `${id}#key-1`, controller: id }
const resolvable = {
  ...document,
  verificationMethod: [
    { ...common, type: 'Multikey', publicKeyMultibase: 'z6MkhaXg' },
    { ...common, type: 'JsonWebKey', publicKeyJwk: { kty: 'OKP', crv: 'Ed25519', x: 'AA' } },
  ],
  assertionMethod: [],
}

test('the document for resolvers carries the key as Multikey and as JsonWebKey', () => {
  assertRequires(resolvableDidDocumentSchema(), resolvable)
  assertRefuses(resolvableDidDocumentSchema(), resolvable, [
    { id: DID },
    { verificationMethod: [{ ...common, type: 'JsonWebKey', publicKeyJwk: 'AA' }] },
    { assertionMethod: null },
  ])
})
