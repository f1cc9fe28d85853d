import { test } from 'node:test'
import { cardSchema, compactCardSchema, namingFor } from '../../src/index.ts'
import { card, DID } from '../support/documents.ts'
import { assertRefuses, assertRequires, assertTakes } from '../support/schema.ts'

const schema = cardSchema(namingFor())

test('the full card has every field of contract 2.4', () => {
  assertRequires(schema, card)
})

test('what contract 2.4 lets be null may be null, and the channels may be none', () => {
  assertTakes(schema, card, [
    { username: null },
    { owner: null },
    { verification: null },
    { tier: null },
    { channels: [] },
    { description: '' },
    { description: '\u{1f600}'.repeat(160) },
  ])
})

test('nothing else of the full card may be null', () => {
  const others = [
    ...['svcDid', 'displayName', 'description', 'avatarUrl', 'status', 'claimedAt'],
    ...['channels', 'grade', 'gradeIsFallback', 'certificateUrl'],
  ]
  assertRefuses(
    schema,
    card,
    others.map((field) => ({ [field]: null })),
  )
})

test('a full card outside the values of the contract is refused', () => {
  assertRefuses(schema, card, [
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
  ])
})

const compact = {
  displayName: 'Ada',
  owner: { displayName: 'Acme', username: 'acme' },
  verificationStatus: 'verified',
  chatHandle: '@ada',
  certificateUrl: 'https://agents.example/agent/ada',
}

test('the compact card has every field of contract 2.5', () => {
  assertRequires(compactCardSchema(), compact)
})

test('the compact card says verified, claim or unverified, and writes the handle with an @', () => {
  assertTakes(compactCardSchema(), compact, [
    { verificationStatus: 'claim' },
    { verificationStatus: 'unverified' },
    { chatHandle: '@' },
  ])
  assertRefuses(compactCardSchema(), compact, [
    { verificationStatus: 'active' },
    { chatHandle: 'ada' },
    { owner: null },
    { owner: { displayName: 'Acme' } },
    { certificateUrl: '/agent/ada' },
  ])
})
