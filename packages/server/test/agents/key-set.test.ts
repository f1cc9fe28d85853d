import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type KeySet, keyThumbprint } from '@countersign/protocol'
import { type Answer, assertRefused } from '../../../../test/support/answer.ts'
import { ask } from '../../../../test/support/ask.ts'
import { newKey } from '../../../../test/support/key.ts'
import { replaceKey } from '../../../../test/support/replace-key.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { until } from '../../../../test/support/until.ts'

function keysOf(answer: Answer): KeySet['keys'] {
  assert.equal(answer.status, 200, answer.text)
  assert.equal(
    answer.headers.get('content-type'),
    'application/http-message-signatures-directory+json',
  )
  assert.equal(answer.headers.get('cache-control'), 'public, max-age=60')
  assert.equal(answer.headers.get('access-control-allow-origin'), '*')
  assert.match(answer.headers.get('etag') ?? '', /^"/)
  return (JSON.parse(answer.text) as KeySet).keys
}

test('the key set of an agent has its current key while it is active, and is empty otherwise', async (t) => {
  const service = await startTestService(t)
  const [first, second] = [newKey(), newKey()]
  const did = await claimAgent(service, await service.operator.addVerifiedOwner(), first)
  const keySet = async () => keysOf(await ask(service, `/agent/${did}/jwks.json`))
  const jwkOf = ({ publicKey }: { publicKey: string }) => {
    const bytes = Buffer.from(publicKey, 'base64')
    const x = bytes.toString('base64url')
    return [{ kty: 'OKP', crv: 'Ed25519', x, kid: keyThumbprint(bytes), use: 'sig' }]
  }

  assert.deepEqual(await keySet(), jwkOf(first))
  for (const name of [did.slice(-24), encodeURIComponent(did)]) {
    assert.deepEqual(keysOf(await ask(service, `/agent/${name}/jwks.json`)), jwkOf(first))
  }
  const bytes = Buffer.from(second.publicKey, 'base64')
  await replaceKey(service.operator.db, did.slice(-24), bytes)
  await until(async () => (await keySet())[0]?.kid === keyThumbprint(bytes))
  assert.deepEqual(await keySet(), jwkOf(second))

  await setStatus(service, did, 'suspended')
  assert.deepEqual(await keySet(), [])
  await setStatus(service, did, 'active')
  assert.deepEqual(await keySet(), jwkOf(second))
  await setStatus(service, did, 'revoked')
  assert.deepEqual(await keySet(), [])
})

test('there is no key set of an unknown agent, a username or a key', async (t) => {
  const service = await startTestService(t)
  const unknown = await ask(service, `/agent/${'1'.repeat(24)}/jwks.json`)
  assertRefused(unknown, 404, 'NOT_FOUND')
  assert.equal(unknown.headers.get('access-control-allow-origin'), '*')
  const others = [
    'ada',
    encodeURIComponent(newKey().publicKey),
    'acme:agent:111111111111111111111111',
  ]
  for (const name of others) {
    assertRefused(await ask(service, `/agent/${name}/jwks.json`), 400, 'VALIDATION_ERROR', /DID/)
  }
})
