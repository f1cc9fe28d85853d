import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { type KeyHolders, keyThumbprint, randomTail } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { ask } from '../../../../test/support/ask.ts'
import { newKey, type TestKey } from '../../../../test/support/key.ts'
import { withRaw } from '../../../../test/support/raw-database.ts'
import { replaceKey } from '../../../../test/support/replace-key.ts'
import {
  claimAgent,
  openOperator,
  startTestService,
  testEnv,
} from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { until } from '../../../../test/support/until.ts'
import { insertAgent } from '../../src/agents/claims/claim-table.ts'
import { thumbprintBytes } from '../../src/agents/keys/key-thumbprint-table.ts'
import { agentsOfThumbprint, fillThumbprints } from '../../src/agents/keys/key-thumbprints.ts'
import { readSettings } from '../../src/base/config.ts'

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

test('a claim stores the thumbprint, and the timer stores what is missing', async (t) => {
  const service = await startTestService(t)
  const key = newKey()
  await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  const stored = () =>
    withRaw(service.settings, async (raw) => {
      const [row] = await raw.all('SELECT key_thumbprint FROM agents')
      const thumbprint = row?.key_thumbprint as Uint8Array | null
      return thumbprint === null ? null : Buffer.from(thumbprint).toString('base64url')
    })
  assert.equal(await stored(), thumbprintOf(key))
  await withRaw(service.settings, (raw) => raw.exec('UPDATE agents SET key_thumbprint = NULL'))
  service.tick()
  await until(async () => (await stored()) === thumbprintOf(key))
})

// Without a service, whose timer would store the thumbprints.
test('agents of the release before are found; while too many are missing, the answer is 503 and never 404', async (t) => {
  const operator = await openOperator(readSettings(await testEnv(t)))
  t.after(() => operator.close())
  const { db } = operator
  const owner_id = await operator.addVerifiedOwner()
  const publicKeys = Array.from({ length: 501 }, () => new Uint8Array(randomBytes(32)))
  const insert = (keys: readonly Uint8Array[], from: number) =>
    db.write(async (tx) => {
      for (const [i, public_key] of keys.entries()) {
        const tail = randomTail(randomBytes)
        const claim = { tail, public_key, agent_id: 'main', owner_id, claimed_at: from + i }
        await insertAgent(tx, { ...claim, seq: 1_000_000 + from + i, grade: 'C' })
      }
      await tx.db.updateTable('agents').set({ key_thumbprint: null }).execute()
    })
  const wanted = publicKeys[0] as Uint8Array
  const find = async () => {
    const found = await agentsOfThumbprint(db, thumbprintBytes(wanted))
    return found.map(({ public_key }) => Buffer.compare(public_key, wanted))
  }

  await insert(publicKeys.slice(0, 500), 0)
  assert.deepEqual(await find(), [0], 'computed during the lookup')
  await insert(publicKeys.slice(500), 500)
  await assert.rejects(find, { code: 'UNAVAILABLE' })
  await fillThumbprints(db, new AbortController().signal)
  assert.deepEqual(await find(), [0])
})
