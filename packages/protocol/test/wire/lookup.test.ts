import { test } from 'node:test'
import { identifySchema, lookupSchema, namingFor } from '../../src/index.ts'
import { DID, lookup } from '../support/documents.ts'
import { assertRefuses, assertRequires, assertTakes } from '../support/schema.ts'

const schema = lookupSchema(namingFor())
const { owner, certificate } = lookup

test('a lookup has every field of contract 4.1, 2.2 and 2.3', () => {
  assertRequires(schema, lookup)
  assertRequires(schema.properties.owner, owner)
  assertRequires(schema.properties.certificate, certificate)
})

test('an owner who is not identity-verified has no method', () => {
  assertTakes(schema, lookup, [
    { owner: { ...owner, identityMethod: null, identityLevel: 'unverified' } },
  ])
})

test('a certificate has one of three statuses', () => {
  assertTakes(schema, lookup, [
    { certificate: { ...certificate, status: 'suspended' } },
    { verified: false, certificate: { ...certificate, status: 'revoked' } },
  ])
})

test('a lookup outside the values of the contract is refused', () => {
  assertRefuses(schema, lookup, [
    { verified: null },
    { owner: null },
    { owner: { ...owner, identityLevel: 'eid' } },
    { owner: { ...owner, identityLevel: null } },
    { owner: { ...owner, claimedAt: '2026-01-01' } },
    { certificate: null },
    { certificate: { ...certificate, id: DID.slice(10) } },
    { certificate: { ...certificate, status: 'expired' } },
    { certificate: { ...certificate, verifyUrl: null } },
  ])
})

const identified = {
  svcDid: DID,
  ...lookup,
  identityLevel: 'eid',
  suggestedUse: 'full',
  proofOfPossession: false,
}

test('what the identification header says has every field, and the suggested use of section 5', () => {
  const identify = identifySchema(namingFor())
  assertRequires(identify, identified)
  assertTakes(identify, identified, [{ suggestedUse: 'limited' }, { suggestedUse: 'deny' }])
  assertRefuses(identify, identified, [{ suggestedUse: 'allow' }, { suggestedUse: null }])
})

test('a header never counts as proof of possession', () => {
  assertRefuses(identifySchema(namingFor()), identified, [{ proofOfPossession: true }])
})
