import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CreatedApiKey, OwnerAgents } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { claimAgent, startTestService } from '../../../../../test/support/service.ts'
import { type SignedInOwner, signIn } from '../../../../../test/support/signed-in.ts'

const AGENTS = '/api/account/agents'
const REPORT = { sequence: 1 }

async function newKey(owner: SignedInOwner, scopes: readonly string[]): Promise<string> {
  const answer = await owner.post('/api/account/api-keys', { name: 'CI', scopes })
  return jsonOf<CreatedApiKey>(answer).secret
}

test('an API key revokes agents and reports keys 10 times an hour, and suspends without a limit', async (t) => {
  const start = Date.now()
  const clock = { ahead: 0 }
  const service = await startTestService(t, {}, () => start + clock.ahead)
  const owner = await signIn(service, await service.operator.addVerifiedOwner())
  const dids: string[] = []
  for (let i = 0; i < 15; i++) dids.push(await claimAgent(service, owner.ownerId))
  const secret = await newKey(owner, ['agents:revoke', 'agents:status'])
  const send = (key: string, did: string | undefined, action: string, body: object = {}) =>
    ask(service, `${AGENTS}/${did}/${action}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const activeAgents = async () =>
    jsonOf<OwnerAgents>(await owner.get(`${AGENTS}?status=active`)).agents.length

  assertRefused(
    await send(secret, `did:web:localhost%3A1:agent:svc:agent:${'1'.repeat(24)}`, 'revoke'),
    400,
    'VALIDATION_ERROR',
  )
  const revoked = await Promise.all(dids.slice(0, 9).map((did) => send(secret, did, 'revoke')))
  assert.deepEqual(new Set(revoked.map(({ status }) => status)), new Set([200]))
  assert.equal((await send(secret, dids[9], 'keys/compromised', REPORT)).status, 200)

  for (const refused of [
    await send(secret, dids[10], 'revoke'),
    await send(secret, dids[10], 'keys/compromised', REPORT),
  ]) {
    assertRefused(refused, 429, 'RATE_LIMITED', /10 times an hour/)
    assert.equal(refused.headers.get('retry-after'), '360')
  }
  assert.equal(await activeAgents(), 5, 'what was refused has changed nothing')
  // It is no longer active, which says so without a look at the quota.
  assertRefused(await send(secret, dids[0], 'revoke'), 400, 'VALIDATION_ERROR')
  assert.equal((await send(secret, dids[10], 'suspend')).status, 200)

  const other = await newKey(owner, ['agents:revoke'])
  assert.equal((await send(other, dids[11], 'revoke')).status, 200, 'each key has a quota')
  assert.equal((await owner.post(`${AGENTS}/${dids[12]}/revoke`)).status, 200, 'a session has none')

  clock.ahead += 359_000
  assertRefused(await send(secret, dids[13], 'revoke'), 429, 'RATE_LIMITED')
  clock.ahead += 2000
  assert.equal((await send(secret, dids[13], 'revoke')).status, 200)
  assertRefused(await send(secret, dids[14], 'revoke'), 429, 'RATE_LIMITED')
})
