import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentObjectSchema, cardSchema, namingFor } from '../../src/index.ts'
import { card, KEY, TIME } from '../support/documents.ts'
import { assertRefuses, assertRequires, assertTakes } from '../support/schema.ts'

const schema = agentObjectSchema(namingFor())
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
  links,
}

test('the agent object is the full card, the key and the links, and lacks none of them', () => {
  assertRequires(schema, agent)
  assertRequires(schema.properties.links, links)
})

test('every member of the card is one of the agent object, under the same schema', () => {
  const { properties } = cardSchema(namingFor())
  assert.deepEqual({ ...schema.properties, ...properties }, schema.properties)
})

test('the label stays private: the agent object has no place for agentId', () => {
  assert.equal('agentId' in schema.properties, false)
})

test('only the reason of a status may be null, and keys and identifiers have their form', () => {
  assertTakes(schema, agent, [{ statusReason: null }, { identityLevel: 'unverified' }])
  assertRefuses(schema, agent, [
    { publicKey: KEY.slice(0, -1) },
    { publicKey: null },
    { didWeb: card.svcDid },
    { updatedAt: null },
    { links: null },
    { links: { ...links, self: '/api/agents/x' } },
  ])
})
