import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AGENT_STATUSES, type AgentStatus, ASSURANCES, canBecome } from '../src/index.ts'
import { readVectors } from './support/vectors.ts'

const { transitions } = readVectors<{
  transitions: { from: AgentStatus; to: AgentStatus; allowed: boolean }[]
}>('status.json')

test('a certificate goes from status to status as the table says', () => {
  for (const { from, to, allowed } of transitions) {
    assert.equal(canBecome(from, to), allowed, `${from} to ${to}`)
  }
})

test('the table covers every pair of statuses once', () => {
  const pairs = AGENT_STATUSES.flatMap((from) => AGENT_STATUSES.map((to) => `${from} to ${to}`))
  assert.deepEqual(transitions.map(({ from, to }) => `${from} to ${to}`).sort(), pairs.sort())
})

test('revoked is final', () => {
  for (const to of AGENT_STATUSES) assert.equal(canBecome('revoked', to), false)
})

test('the statuses are those of the contract, the assurances are listed weakest first', () => {
  assert.deepEqual([...AGENT_STATUSES], ['active', 'suspended', 'revoked'])
  assert.deepEqual([...ASSURANCES], ['low', 'substantial', 'high'])
})
