import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { ask } from '../../../../test/support/ask.ts'
import { newKey } from '../../../../test/support/key.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { signIn } from '../../../../test/support/signed-in.ts'

test('an agent has one client metadata document, at its client_id', async (t) => {
  const service = await startTestService(t)
  const owner = await signIn(service, await service.operator.addVerifiedOwner())
  const did = await claimAgent(service, owner.ownerId, newKey())
  const tail = did.slice(-24)
  const path = `/agent/${tail}/client.json`
  const read = async () => jsonOf<Record<string, unknown>>(await ask(service, path))

  const client = await read()
  assert.deepEqual(client, {
    client_id: service.url + path,
    client_name: `Agent ${tail}`,
    client_uri: `${service.url}/agent/${did}`,
    jwks_uri: `${service.url}/agent/${tail}/jwks.json`,
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_signing_alg: 'EdDSA',
    grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
    response_types: ['code'],
    redirect_uris: ['http://127.0.0.1/callback', 'http://[::1]/callback'],
    web_bot_auth: {},
  })
  const keys = await (await fetch(client.jwks_uri as string)).json()
  assert.equal((keys as { keys: unknown[] }).keys.length, 1)

  const named = { displayName: 'Your Bank' }
  assert.equal((await owner.send('PATCH', `/api/account/agents/${did}`, named)).status, 200)
  assert.equal((await read()).client_name, 'Your Bank (self-declared name)')
  assert.equal('logo_uri' in (await read()), false)

  const encoded = `/agent/%${tail.charCodeAt(0).toString(16)}${tail.slice(1)}/client.json`
  for (const other of [`${path}?x=1`, `${path}?`, encoded, `/agent/${did}/client.json`])
    assertRefused(await ask(service, other), 404, 'NOT_FOUND')
  assert.equal((await ask(service, `${path}/`)).status, 404)

  await setStatus(service, did, 'suspended')
  assertRefused(await ask(service, path), 409, 'AGENT_NOT_ACTIVE')
})
