import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { startImpostor, startSite } from '../../../../test/support/impostor.ts'
import { startTestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { Agent } from '../../src/agent.ts'
import { newKey } from '../../src/keys/keys.ts'
import { nodeListener } from '../../src/node/node-listener.ts'
import { Registry } from '../../src/registry.ts'
import {
  type AgentSignIn,
  type AgentSignInOptions,
  agentSignIn,
} from '../../src/relying-party/agent-sign-in.ts'
import { memoryChallengeStore } from '../../src/relying-party/challenge-store.ts'
import { memoryNonceStore } from '../../src/relying-party/memory-nonce-store.ts'
import { certifiedAgent, registryOf } from '../support/certified.ts'
import { failsWith } from '../support/fails.ts'

const SHOP = 'https://shop.example'
const SECRET = 'a secret of at least thirty-two bytes'

async function shop(t: TestContext, options: Partial<AgentSignInOptions> = {}) {
  const service = await startTestService(t)
  const registry = registryOf(service)
  const certified = await certifiedAgent(service, registry)
  const signIn = agentSignIn({ registry, audience: SHOP, secret: SECRET, ...options })
  return { service, registry, signIn, ...certified }
}

async function signedIn(signIn: AgentSignIn, agent: Agent) {
  return signIn.complete(await agent.answer(await signIn.begin(), { audience: SHOP }))
}

/** A site on loopback that greets who has signed in. */
async function greetingSite(t: TestContext, registry: Registry, admit?: () => boolean) {
  const box: { signIn?: AgentSignIn; url?: string } = {}
  const url = await startSite(t, (request, response) => {
    nodeListener(box.url as string, async (incoming) => {
      const signIn = box.signIn as AgentSignIn
      if (new URL(incoming.url).pathname === '/agent-sign-in') return signIn.handle(incoming)
      const session = await signIn.session(incoming)
      return new Response(session?.did ?? 'a stranger')
    })(request, response)
  })
  box.url = url
  box.signIn = agentSignIn({ registry, audience: url, secret: SECRET, admit })
  return url
}

test('an agent signs in at a site, over HTTP, and is known there by its session', async (t) => {
  const { registry, agent, did } = await shop(t)
  const site = await greetingSite(t, registry)
  const session = await agent.signIn(`${site}/agent-sign-in`)
  assert.equal(session.did, did)
  const headers = { authorization: `Bearer ${session.token}` }
  assert.equal(await (await fetch(site, { headers })).text(), did)
  assert.equal(await (await fetch(site)).text(), 'a stranger')
})

test('a site that does not admit an agent says so, and so does one whose service it is not', async (t) => {
  const { service, registry, agent } = await shop(t)
  const site = await greetingSite(t, registry, () => false)
  const error = await failsWith('NOT_ADMITTED', agent.signIn(`${site}/agent-sign-in`))
  assert.equal(error.status, 403)
  const open = await greetingSite(t, registry)
  const stranger = new Agent({ registry: registryOf(service), signer: await newKey() })
  await failsWith('NOT_ADMITTED', stranger.signIn(`${open}/agent-sign-in`))
  await failsWith('PROTOCOL', agent.signIn(`${open}/elsewhere`))
  const unreachable = new Registry('http://127.0.0.1:1', { retries: 0 })
  const cut = await greetingSite(t, unreachable)
  await failsWith('UNAVAILABLE', agent.signIn(`${cut}/agent-sign-in`))
})

test('an agent does not sign in where the site passes on the challenge of another', async (t) => {
  const { agent } = await shop(t)
  const challenge = `svc-challenge-v1:https://bank.example:${'n'.repeat(32)}`
  const { url, asked } = await startImpostor(t, { body: { challenge } })
  await failsWith('WRONG_AUDIENCE', agent.signIn(`${url}/agent-sign-in`))
  const claim = await startImpostor(t, { body: { challenge: `svc-verify-${'0'.repeat(32)}|x` } })
  await failsWith('LOOKS_LIKE_A_CLAIM', agent.signIn(claim.url))
  const moved = await startImpostor(t, {
    status: 307,
    headers: { location: 'https://bank.example' },
  })
  await failsWith('PROTOCOL', agent.signIn(moved.url))
  assert.deepEqual([asked.length, claim.asked.length, moved.asked.length], [1, 1, 1])
})

test('a session says who, until when, and ends', async (t) => {
  let now = Date.UTC(2026, 0, 1)
  const { signIn, agent, did } = await shop(t, { now: () => now, sessionSeconds: 60 })
  const { token, expiresAt } = await signedIn(signIn, agent)
  assert.equal(expiresAt, '2026-01-01T00:01:00.000Z')
  assert.deepEqual(await signIn.session(token), {
    did,
    identityLevel: 'in-person',
    keySequence: 1,
    issuedAt: now,
    expiresAt: now + 60_000,
  })
  const headers = new Headers({ authorization: `bearer ${token}` })
  assert.equal((await signIn.session(headers))?.did, did)
  assert.equal((await signIn.session(new Request(SHOP, { headers })))?.did, did)
  now += 59_999
  assert.notEqual(await signIn.session(token), null)
  now += 1
  assert.equal(await signIn.session(token), null)
})

test('what this site has not issued is no session', async (t) => {
  const { registry, signIn, agent } = await shop(t)
  const { token } = await signedIn(signIn, agent)
  const [header = '', payload = '', mac = ''] = token.split('.')
  const url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const macOf = (signed: string, secret = SECRET) =>
    createHmac('sha256', secret).update(signed).digest('base64url')
  assert.equal(mac, macOf(`${header}.${payload}`), 'and this is how they are made')

  const none = `${url({ alg: 'none' })}.${payload}`
  const jwt = `${url({ alg: 'HS256', typ: 'JWT' })}.${payload}`
  const guessed = `${header}.${payload}`
  const forged = `${header}.${url({ ...claims, sub: `svc:agent:${'1'.repeat(24)}` })}`
  for (const text of [
    '',
    '.',
    '..',
    'x',
    `${header}.${payload}`,
    `${header}.${payload}.`,
    `${none}.`,
    `${none}.${macOf(none)}`,
    `${jwt}.${macOf(jwt)}`,
    `${guessed}.${macOf(guessed, 'another secret, as long as the first')}`,
    `${forged}.${mac}`,
    `${token}.x`,
    `${token}=`,
    ` ${token}`,
    `${header}.${payload}.${mac.slice(0, -1)}`,
    `${header}.${payload}.${Buffer.from(mac, 'base64url').subarray(1).toString('base64url')}`,
    'x'.repeat(1_000_000),
  ]) {
    assert.equal(await signIn.session(text), null, text.slice(0, 300))
  }
  const bank = agentSignIn({ registry, audience: 'https://bank.example', secret: SECRET })
  assert.equal(await bank.session(token), null, 'a session of one site is none at another')
  for (const authorization of ['', 'Bearer', `Basic ${token}`, `Bearer ${token} x`]) {
    assert.equal(await signIn.session(new Headers({ authorization })), null)
  }
})

test('a secret is changed without ending sessions, until it is taken out', async (t) => {
  const { registry, signIn, agent, did } = await shop(t)
  const { token } = await signedIn(signIn, agent)
  const next = crypto.getRandomValues(new Uint8Array(32))
  const both = agentSignIn({ registry, audience: SHOP, secret: [next, SECRET] })
  assert.equal((await both.session(token))?.did, did)
  const after = agentSignIn({ registry, audience: SHOP, secret: next })
  assert.equal(await after.session(token), null)
  assert.equal((await after.session((await signedIn(both, agent)).token))?.did, did)
})

test('a revoked agent is out at once where that is asked for', async (t) => {
  const { service, signIn, agent, did } = await shop(t)
  const { token } = await signedIn(signIn, agent)
  assert.equal((await signIn.session(token, { live: true }))?.did, did)
  await setStatus(service, did, 'revoked')
  assert.equal((await signIn.session(token))?.did, did)
  assert.equal(await signIn.session(token, { live: true }), null)
  await failsWith('NOT_ADMITTED', signedIn(signIn, agent))
  await service.stop()
  const cut = agentSignIn({
    registry: new Registry(service.url, { retries: 0 }),
    audience: SHOP,
    secret: SECRET,
  })
  await failsWith('NETWORK', cut.session(token, { live: true }))
  assert.equal(await cut.session('x', { live: true }), null, 'nobody is asked about nothing')
})

test('whom to admit is up to the site', async (t) => {
  const seen: string[] = []
  const { signIn, agent } = await shop(t, {
    admit: async ({ identityLevel }) => seen.push(identityLevel) > 1,
  })
  await failsWith('NOT_ADMITTED', signedIn(signIn, agent))
  await signedIn(signIn, agent)
  assert.deepEqual(seen, ['in-person', 'in-person'])
})

test('the endpoint refuses what is no answer, in the shape of the service’s own refusals', async (t) => {
  const { signIn, agent } = await shop(t)
  const json = { 'content-type': 'application/json' }
  const post = (body: string | object, headers: Record<string, string> = json) =>
    new Request(SHOP, {
      method: 'POST',
      headers,
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  const answer = await agent.answer(await signIn.begin(), { audience: SHOP })
  const invented = { ...answer, challenge: `svc-challenge-v1:${SHOP}:${'n'.repeat(32)}` }
  for (const [request, status, code] of [
    [new Request(SHOP, { method: 'PUT' }), 405, 'METHOD_NOT_ALLOWED'],
    [new Request(SHOP, { method: 'POST' }), 415, 'UNSUPPORTED_MEDIA_TYPE'],
    [post(answer, { 'content-type': 'text/plain' }), 415, 'UNSUPPORTED_MEDIA_TYPE'],
    [post('x'), 400, 'VALIDATION_ERROR'],
    [post('null'), 400, 'VALIDATION_ERROR'],
    [post('[]'), 400, 'VALIDATION_ERROR'],
    [post({ ...answer, signature: 7 }), 400, 'VALIDATION_ERROR'],
    [post({ ...answer, did: {} }), 400, 'VALIDATION_ERROR'],
    [post('x'.repeat(16_385)), 413, 'PAYLOAD_TOO_LARGE'],
    [post(invented), 401, 'CHALLENGE_SPENT'],
    [post({ ...answer, signature: 'x' }), 400, 'VALIDATION_ERROR'],
    [post(answer), 401, 'CHALLENGE_SPENT'],
  ] as const) {
    const response = await signIn.handle(request)
    const text = await response.text()
    assert.equal(response.status, status, text)
    const { error } = JSON.parse(text)
    assert.deepEqual([error.code, Object.keys(error)], [code, ['code', 'message', 'requestId']])
    assert.match(error.requestId, /^req_[0-9a-f]{32}$/)
    assert.equal(response.headers.get('cache-control'), 'no-store')
    assert.equal(response.headers.get('allow'), status === 405 ? 'GET, POST' : null)
  }
})

test('what would be no safe session is refused at the start', async () => {
  const registry = new Registry('https://id.example')
  for (const options of [
    { secret: '' },
    { secret: 'x'.repeat(31) },
    { secret: [] },
    { secret: [SECRET, 'short'] },
    { secret: SECRET, sessionSeconds: 0 },
    { secret: SECRET, sessionSeconds: 86_401 },
    { secret: SECRET, sessionSeconds: Number.NaN },
    { secret: SECRET, audience: 'shop' },
    { secret: SECRET, store: memoryChallengeStore(), nonces: memoryNonceStore() },
  ]) {
    await failsWith('INVALID_ARGUMENT', () => agentSignIn({ registry, audience: SHOP, ...options }))
  }
})
