import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { ask } from '../../../../test/support/ask.ts'
import { newKey } from '../../../../test/support/key.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { signIn } from '../../../../test/support/signed-in.ts'
import {
  addChannel,
  check,
  DOMAIN,
  newProver,
  proofField,
  startChannelFixture,
} from '../channels/support/channel-fixture.ts'

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

test('codes go to a domain while it is verified, and to no other', async (t) => {
  const fixture = await startChannelFixture(t)
  const prover = await newProver(fixture)
  const tail = prover.did.slice(-24)
  const loopback = ['http://127.0.0.1/callback', 'http://[::1]/callback']
  const redirects = async () => {
    const answer = await ask(fixture.service, `/agent/${tail}/client.json`)
    return jsonOf<{ redirect_uris: string[] }>(answer).redirect_uris
  }

  const channel = await addChannel(prover, 'domain')
  assert.deepEqual(await redirects(), loopback, 'the domain is not verified yet')

  const place = proofField(channel, 'dns')
  fixture.txt(place('Name'), place('Value'))
  assert.equal((await check(prover, channel)).state, 'verified')
  assert.deepEqual(await redirects(), [...loopback, `https://${DOMAIN}/oauth/callback/${tail}`])

  const url = `/api/account/agents/${prover.did}/channels/${channel.id}`
  assert.equal((await prover.owner.send('DELETE', url)).status, 204)
  assert.deepEqual(await redirects(), loopback)
})

/** What an authorization server must not find in a document that it fetches (RFC 7591 section 2, RFC 7523). */
const SHARED_SECRETS = ['client_secret_post', 'client_secret_basic', 'client_secret_jwt']

/**
 * Accepts a client as an authorization server does that knows only its identifier
 * (draft-ietf-oauth-client-id-metadata-document-03).
 * @param fetchUrl fetches a URL without following redirects
 */
async function acceptClient(clientId: string, fetchUrl: (url: URL) => Promise<Response>) {
  const url = new URL(clientId)
  // The client identifier URL. Ports are allowed; a query is not recommended.
  assert.equal(url.protocol, 'https:')
  assert.equal(url.href, clientId, 'it is normalized: no dot segments, no empty fragment or query')
  assert.notEqual(url.pathname, '/')
  assert.deepEqual([url.username, url.password, url.hash, url.search], ['', '', '', ''])

  const response = await fetchUrl(url)
  assert.equal(response.status, 200)
  assert.match(response.headers.get('content-type') ?? '', /^application\/([\w.-]+\+)?json(;|$)/)
  const text = await response.text()
  assert.ok(Buffer.byteLength(text) <= 5 * 1024, 'the recommended limit')

  const client = JSON.parse(text) as Record<string, unknown>
  assert.equal(client.client_id, clientId, 'compared as strings')
  for (const name of ['client_secret', 'client_secret_expires_at']) assert.ok(!(name in client))
  assert.ok(!SHARED_SECRETS.includes(client.token_endpoint_auth_method as string))
  assert.equal(client.token_endpoint_auth_method, 'private_key_jwt')
  assert.ok(!('jwks' in client), 'RFC 7591: either jwks or jwks_uri')
  assert.equal(new URL(client.jwks_uri as string).origin, url.origin)
  assert.equal(new URL(client.client_uri as string).origin, url.origin)
  assert.ok(!('logo_uri' in client))
  assert.equal(typeof client.client_name, 'string')
  assert.ok((client.grant_types as string[]).includes('authorization_code'))
  assert.deepEqual(client.response_types, ['code'])
  const redirects = client.redirect_uris as string[]
  assert.ok(redirects.length > 0)
  for (const each of redirects) {
    const { protocol, hostname, hash } = new URL(each)
    // RFC 8252 sections 7.2 and 7.3.
    assert.ok(protocol === 'https:' || ['127.0.0.1', '[::1]'].includes(hostname), each)
    assert.equal(hash, '')
  }

  const keys = await fetchUrl(new URL(client.jwks_uri as string))
  assert.equal(keys.status, 200)
  const jwks = (await keys.json()) as { keys: Record<string, unknown>[] }
  assert.equal(jwks.keys.length, 1)
  for (const key of jwks.keys) {
    assert.deepEqual([key.kty, key.crv], ['OKP', 'Ed25519'])
    for (const secret of ['d', 'k']) assert.ok(!(secret in key))
  }
  return { client, jwks }
}

test('an authorization server accepts the document of an agent that it does not know', async (t) => {
  const baseUrl = 'https://agents.example'
  const service = await startTestService(t, { BASE_URL: baseUrl })
  const ownerId = await service.operator.addVerifiedOwner()
  const tail = (await claimAgent(service, ownerId, newKey())).slice(-24)
  const fetchUrl = async (url: URL) => {
    assert.equal(url.origin, baseUrl)
    return fetch(service.url + url.pathname + url.search, { redirect: 'manual' })
  }
  const { client } = await acceptClient(`${baseUrl}/agent/${tail}/client.json`, fetchUrl)
  assert.equal(client.token_endpoint_auth_signing_alg, 'EdDSA')
  assert.deepEqual(client.web_bot_auth, {}, 'it is a signature agent card too')
})
