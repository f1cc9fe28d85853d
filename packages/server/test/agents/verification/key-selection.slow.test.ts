import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask, post } from '../../../../../test/support/ask.ts'
import { newKey, type TestKey } from '../../../../../test/support/key.ts'
import { verifyBody } from '../../../../../test/support/refused-posts.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'

interface Certificate {
  readonly certificate: { readonly id: string }
}
interface Verification {
  readonly verified: boolean
  readonly agent: { readonly svcDid: string; readonly status: string }
}

/** The DID that a key resolves to. Asserts that all endpoints agree. */
async function holderOf(service: TestService, key: TestKey): Promise<string> {
  const reference = encodeURIComponent(key.publicKey)
  const lookup = jsonOf<Certificate>(await ask(service, `/api/v1/agent/${reference}`))
  const object = jsonOf(await ask(service, `/api/agents/${reference}`))
  const card = jsonOf(await ask(service, `/api/agents/${reference}/card`))
  const verified = await post(service, '/api/v1/agent/verify', verifyBody(key))
  const did = lookup.certificate.id
  const others = [object.svcDid, card.svcDid, jsonOf<Verification>(verified).agent.svcDid]
  assert.deepEqual(others, [did, did, did])
  return did
}

// With a limit of one agent, responses come from the database; by default they come from memory.
for (const READ_MODEL_AGENTS of ['2000000', '1']) {
  const where = READ_MODEL_AGENTS === '1' ? 'in the database' : 'in memory'

  test(`a key with several DIDs resolves to an active one, then suspended, then revoked, then the oldest (${where})`, async (t) => {
    const service = await startTestService(t, { READ_MODEL_AGENTS })
    const owner = await service.operator.addVerifiedOwner()
    const key = newKey()
    const [a, b, c] = [
      await claimAgent(service, owner, key, 'a'),
      await claimAgent(service, owner, key, 'b'),
      await claimAgent(service, owner, key, 'c'),
    ]
    assert.equal(await holderOf(service, key), a, 'all active: the oldest')
    await setStatus(service, a, 'suspended')
    assert.equal(await holderOf(service, key), b, 'the oldest active')
    await setStatus(service, b, 'revoked')
    assert.equal(await holderOf(service, key), c, 'the only active')
    await setStatus(service, c, 'suspended')
    assert.equal(await holderOf(service, key), a, 'the oldest suspended')
    await setStatus(service, c, 'active')
    assert.equal(await holderOf(service, key), c, 'active again')
    await setStatus(service, a, 'active')
    assert.equal(await holderOf(service, key), a, 'the oldest active again')
    await setStatus(service, a, 'revoked')
    await setStatus(service, c, 'suspended')
    assert.equal(await holderOf(service, key), c, 'suspended before revoked, though younger')
    await setStatus(service, c, 'revoked')
    assert.equal(await holderOf(service, key), a, 'all revoked: the oldest')
    const d = await claimAgent(service, owner, key, 'a')
    assert.equal(await holderOf(service, key), d, 'a new claim is active')
  })

  test(`another owner's later claim of a key never displaces the first (${where})`, async (t) => {
    const service = await startTestService(t, { READ_MODEL_AGENTS, KEY_REUSE: 'any' })
    const key = newKey()
    const first = await claimAgent(service, await service.operator.addVerifiedOwner(), key, 'a')
    for (let strangers = 0; strangers < 3; strangers++) {
      await claimAgent(service, await service.operator.addVerifiedOwner(), key, `${strangers}`)
      assert.equal(await holderOf(service, key), first)
    }
  })

  test(`a verification can name the DID to verify (${where})`, async (t) => {
    const service = await startTestService(t, { READ_MODEL_AGENTS })
    const owner = await service.operator.addVerifiedOwner()
    const key = newKey()
    const first = await claimAgent(service, owner, key, 'a')
    const second = await claimAgent(service, owner, key, 'b')
    const elsewhere = await claimAgent(service, owner, newKey(), 'a')
    await setStatus(service, second, 'suspended')
    const verify = (svcDid: string) =>
      post(service, '/api/v1/agent/verify', { ...verifyBody(key), svcDid })

    for (const [did, status] of [
      [first, 'active'],
      [second, 'suspended'],
    ] as const) {
      const { verified, agent } = jsonOf<Verification>(await verify(did))
      assert.deepEqual([agent.svcDid, agent.status], [did, status])
      assert.equal(verified, status === 'active')
    }
    assertRefused(
      await verify(elsewhere),
      404,
      'NOT_FOUND',
      /is not the DID of an agent with this key/,
    )
    assertRefused(await verify(`svc:agent:${'1'.repeat(24)}`), 404, 'NOT_FOUND')
  })
}

test('the DID field of a verification has the configured name', async (t) => {
  const service = await startTestService(t, { SHORT_NAME: 'acme' })
  const key = newKey()
  const acmeDid = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  const body = verifyBody(key)
  const named = await post(service, '/api/v1/agent/verify', { ...body, acmeDid })
  assert.equal(jsonOf<{ agent: { acmeDid: string } }>(named).agent.acmeDid, acmeDid)
  const others = [{ svcDid: acmeDid }, { acmeDid: acmeDid.replace('acme', 'svc') }]
  for (const other of others) {
    const answer = await post(service, '/api/v1/agent/verify', { ...body, ...other })
    assertRefused(answer, 400, 'VALIDATION_ERROR')
  }
})
