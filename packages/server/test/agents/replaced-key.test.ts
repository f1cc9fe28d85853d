import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { ask, post } from '../../../../test/support/ask.ts'
import { newKey, type TestKey } from '../../../../test/support/key.ts'
import { verifyBody } from '../../../../test/support/refused-posts.ts'
import { replaceKey } from '../../../../test/support/replace-key.ts'
import { claimAgent, startTestService, type TestService } from '../../../../test/support/service.ts'
import { until } from '../../../../test/support/until.ts'
import { agentByTail } from '../../src/agents/agent-table.ts'
import { isCompromised, keysOfAgent } from '../../src/agents/keys/key-table.ts'

const PATIENCE_MS = 20_000

/** Replaces the key of an agent and waits until the service shows it. */
async function replace(service: TestService, did: string, key: TestKey): Promise<void> {
  await replaceKey(service.operator.db, did.slice(-24), bytesOf(key))
  const shown = async () => jsonOf(await ask(service, `/api/agents/${did}`)).publicKey
  await until(async () => (await shown()) === key.publicKey, PATIENCE_MS)
}

function bytesOf({ publicKey }: TestKey): Buffer {
  return Buffer.from(publicKey, 'base64')
}

async function assertHolder(service: TestService, key: TestKey, did: string): Promise<void> {
  const lookup = await ask(service, `/api/v1/agent/${encodeURIComponent(key.publicKey)}`)
  assert.equal((jsonOf(lookup).certificate as { id: string }).id, did)
  const verified = await post(service, '/api/v1/agent/verify', verifyBody(key))
  assert.equal((jsonOf(verified).agent as { svcDid: string }).svcDid, did)
}

async function assertNoHolder(service: TestService, key: TestKey): Promise<void> {
  const lookup = await ask(service, `/api/v1/agent/${encodeURIComponent(key.publicKey)}`)
  assertRefused(lookup, 404, 'NOT_FOUND')
  assertRefused(await post(service, '/api/v1/agent/verify', verifyBody(key)), 404, 'NOT_FOUND')
}

// With a limit of one agent, responses come from the database; by default they come from memory.
for (const READ_MODEL_AGENTS of ['2000000', '1']) {
  const where = READ_MODEL_AGENTS === '1' ? 'in the database' : 'in memory'

  test(`after its key is replaced, an agent is found and verified by the new key only (${where})`, async (t) => {
    const service = await startTestService(t, { READ_MODEL_AGENTS })
    const owner = await service.operator.addVerifiedOwner()
    const [shared, second, third] = [newKey(), newKey(), newKey()]
    const a = await claimAgent(service, owner, shared, 'a')
    const b = await claimAgent(service, owner, shared, 'b')
    await assertHolder(service, shared, a)

    await replace(service, a, second)
    await assertHolder(service, second, a)
    await assertHolder(service, shared, b)
    const byOldKey = { ...verifyBody(shared), svcDid: a }
    assertRefused(await post(service, '/api/v1/agent/verify', byOldKey), 404, 'NOT_FOUND')
    const headers = { accept: 'application/did+json' }
    const { text } = await ask(service, `/api/agents/${a}`, { headers })
    assert.ok(text.includes(second.publicKey) && !text.includes(shared.publicKey))

    await replace(service, b, third)
    await assertNoHolder(service, shared)
    await replace(service, a, third)
    await assertNoHolder(service, second)
    await assertHolder(service, third, a)
  })
}

test('a service started after a key was replaced finds the agent by the new key only', async (t) => {
  const before = await startTestService(t)
  const [old, current] = [newKey(), newKey()]
  const did = await claimAgent(before, await before.operator.addVerifiedOwner(), old)
  await replaceKey(before.operator.db, did.slice(-24), bytesOf(current))
  await before.stop()
  const after = await startTestService(t, before.env)
  await assertHolder(after, current, did)
  await assertNoHolder(after, old)
})

test('the keys of an agent are its former keys and the current one, numbered from 1', async (t) => {
  const service = await startTestService(t)
  const { db } = service.operator
  const keys = [newKey(), newKey(), newKey()] as const
  const did = await claimAgent(service, await service.operator.addVerifiedOwner(), keys[0])
  const history = async () => {
    const agent = await agentByTail(db.read, did.slice(-24))
    assert.ok(agent)
    const found = await keysOfAgent(db.read, agent)
    for (const [i, { valid_from, valid_until }] of found.entries()) {
      assert.equal(valid_from, i === 0 ? agent.claimed_at : found[i - 1]?.valid_until)
      assert.ok(valid_until === null || valid_until > valid_from)
    }
    return found.map(({ sequence, public_key, state, valid_until }) => [
      sequence,
      keys.findIndex((key) => bytesOf(key).equals(public_key)),
      state,
      valid_until === null,
    ])
  }

  assert.deepEqual(await history(), [[1, 0, 'current', true]])
  await replaceKey(db, did.slice(-24), bytesOf(keys[1]))
  await replaceKey(db, did.slice(-24), bytesOf(keys[2]), 'compromised')
  assert.deepEqual(await history(), [
    [1, 0, 'retired', false],
    [2, 1, 'compromised', false],
    [3, 2, 'current', true],
  ])
  const compromised = await Promise.all(keys.map((key) => isCompromised(db.read, bytesOf(key))))
  assert.deepEqual(compromised, [false, true, false])
})

test('the database rejects unknown key states and sequence numbers below 1', async (t) => {
  const service = await startTestService(t)
  const { db } = service.operator
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const row = { tail: did.slice(-24), public_key: bytesOf(newKey()), valid_from: 1, valid_until: 2 }
  const insert = (sequence: number, state: string) =>
    db.write((tx) =>
      tx.db
        .insertInto('agent_keys')
        .values({ ...row, sequence, state: state as 'retired' })
        .execute(),
    )
  await assert.rejects(insert(1, 'current'), /agent_keys_state/)
  await assert.rejects(insert(0, 'retired'), /agent_keys_sequence/)
  await insert(1, 'retired')
})
