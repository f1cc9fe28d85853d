import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { type KeyHolders, keyThumbprint, randomTail } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { ask } from '../../../../test/support/ask.ts'
import { insertAgent } from '../../../../test/support/insert-agent.ts'
import { newKey, type TestKey } from '../../../../test/support/key.ts'
import { replaceKey } from '../../../../test/support/replace-key.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'

const thumbprintOf = ({ publicKey }: TestKey) => keyThumbprint(Buffer.from(publicKey, 'base64'))

test('the thumbprint of a key names the agents that have it and are not revoked', async (t) => {
  const service = await startTestService(t)
  const { operator } = service
  const [key, next] = [newKey(), newKey()]
  const owner = await operator.addVerifiedOwner()
  const first = await claimAgent(service, owner, key, 'first')
  const second = await claimAgent(service, owner, key, 'second')
  const keyid = thumbprintOf(key)
  const url = `/api/v1/keys/${keyid}`
  const holders = async () =>
    jsonOf<KeyHolders>(await ask(service, url)).agents.map(({ svcDid, status }) => [svcDid, status])

  const answer = await ask(service, url)
  const x = Buffer.from(key.publicKey, 'base64').toString('base64url')
  const found = jsonOf<KeyHolders>(answer)
  assert.equal(found.keyid, keyid)
  assert.deepEqual(found.jwk, { kty: 'OKP', crv: 'Ed25519', x, kid: keyid, use: 'sig' })
  assert.ok(Date.parse(found.agents[0]?.claimedAt ?? '') > 0)
  assert.equal(answer.headers.get('cache-control'), 'public, max-age=60')
  assert.equal(answer.headers.get('access-control-allow-origin'), '*')
  const etag = answer.headers.get('etag') as string
  assert.equal((await ask(service, url, { headers: { 'if-none-match': etag } })).status, 304)

  await setStatus(service, first, 'suspended')
  assert.deepEqual(await holders(), [
    [second, 'active'],
    [first, 'suspended'],
  ])
  await setStatus(service, second, 'revoked')
  assert.deepEqual(await holders(), [[first, 'suspended']])

  await replaceKey(operator.db, first.slice(-24), Buffer.from(next.publicKey, 'base64'))
  assertRefused(await ask(service, url), 404, 'NOT_FOUND')
  const replaced = jsonOf<KeyHolders>(await ask(service, `/api/v1/keys/${thumbprintOf(next)}`))
  assert.equal(replaced.agents[0]?.svcDid, first)
})

test('what is not the canonical thumbprint of a key is refused', async (t) => {
  const service = await startTestService(t)
  const known = thumbprintOf(newKey())
  assertRefused(await ask(service, `/api/v1/keys/${known}`), 404, 'NOT_FOUND')
  // The last character has two bits that are not used: "B" would be another spelling of the bytes of "A".
  const spelling = `${'A'.repeat(42)}B`
  for (const text of [known.slice(1), `${known}=`, `${known}A`, spelling, `${'A'.repeat(42)}.`]) {
    assertRefused(await ask(service, `/api/v1/keys/${text}`), 400, 'VALIDATION_ERROR')
  }
})

test('of more than 100 agents with a key, those claimed first are listed', async (t) => {
  const service = await startTestService(t)
  const { db, addVerifiedOwner } = service.operator
  const owner_id = await addVerifiedOwner()
  const key = newKey()
  const public_key = Buffer.from(key.publicKey, 'base64')
  const tails = Array.from({ length: 101 }, () => randomTail(randomBytes))
  await db.write(async (tx) => {
    for (const [i, tail] of tails.entries()) {
      const seq = tx.nextSeq()
      const label = { agent_id: `agent ${i}`, claimed_at: i, grade: 'C' } as const
      await insertAgent(tx, { seq, tail, public_key, owner_id, ...label })
    }
  })
  const answer = await ask(service, `/api/v1/keys/${thumbprintOf(key)}`)
  assert.deepEqual(
    jsonOf<KeyHolders>(answer).agents.map(({ svcDid }) => svcDid?.slice(-24)),
    tails.slice(0, 100),
  )
})
