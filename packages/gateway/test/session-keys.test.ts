import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type Agent, agentSignIn, newKey, Registry } from '@countersign/sdk'
import { nodeListener } from '@countersign/sdk/node'
import { fileCleanup } from '../../../test/support/file-cleanup.ts'
import { startSite } from '../../../test/support/impostor.ts'
import { PATIENT_CLIENT } from '../../../test/support/patient-client.ts'
import { rotateKey } from '../../../test/support/rotate-key.ts'
import { startTestService, type TestService } from '../../../test/support/service.ts'
import { setStatus } from '../../../test/support/set-status.ts'
import { agentOf, gateway } from '../src/fetch.ts'
import type { GatewayOptions } from '../src/options.ts'
import { PolicyError } from '../src/policy/policy-error.ts'
import { fetchGateway } from './support/fetch-gateway.ts'
import { FRAMEWORKS } from './support/frameworks.ts'
import { olderNonceStore, SHOP, send, signingAgent } from './support/signing.ts'

const BANK = 'https://bank.example'
const secret = 's'.repeat(32)

const cleanup = fileCleanup()
let service: TestService
let registry: Registry

before(async () => {
  service = await startTestService(cleanup)
  registry = new Registry(service.url, PATIENT_CLIENT)
})
const siteAt = (audience: string) => agentSignIn({ registry, audience, secret })

async function signIn(agent: Agent, audience = SHOP) {
  const site = siteAt(audience)
  const { token } = await site.complete(await agent.answer(await site.begin(), { audience }))
  return { authorization: `Bearer ${token}` }
}

/** A gateway of another process: it has not seen this agent yet. */
function visitor(options: Partial<GatewayOptions> = {}) {
  const own = new Registry(service.url, PATIENT_CLIENT)
  const sessions = agentSignIn({ registry: own, audience: SHOP, secret })
  return fetchGateway({ service: own, sessions, ...options })
}

test('a session ends with the key: refused with 401 within cacheSeconds, and a new one is accepted at once', async () => {
  const { agent, did } = await signingAgent(service)
  let now = 0
  const options = { policy: { levels: { none: 'allow' } }, now: () => now } as const
  const visit = visitor(options)
  const shadow = visitor({ policy: { mode: 'shadow' } })
  const former = await signIn(agent)
  assert.equal((await visit(former)).decision.proof, 'session')
  const next = await newKey()
  await rotateKey(service, did, next.publicKey)
  assert.equal((await visit(former)).status, 200, 'the cache is five seconds old at most')
  now += 5_000
  for (const headers of [former, { ...former, ServiceID: did }, former]) {
    const { response, decision } = await visit(headers)
    assert.deepEqual([response.status, decision.reasons[0].code], [401, 'session-ended'])
    assert.deepEqual([decision.proof, decision.did], ['none', null])
  }
  const watched = await shadow(former)
  assert.deepEqual([watched.status, watched.decision.proof], [200, 'none'])
  agent.useKey(next)
  const renewed = await signIn(agent)
  const { status, decision } = await visit(renewed)
  assert.deepEqual([status, decision.proof, decision.did], [200, 'session', did])
})

test('a session of a later key than the cache has makes it ask the service', async () => {
  const { agent, did } = await signingAgent(service)
  const visit = visitor({ policy: { cacheSeconds: 60 } })
  assert.equal((await visit({ ServiceID: did })).status, 200)
  const next = await newKey()
  await rotateKey(service, did, next.publicKey)
  agent.useKey(next)
  const { status, decision } = await visit(await signIn(agent))
  assert.deepEqual([status, decision.proof, decision.source], [200, 'session', 'service'])
})

test('an answer of the service with an earlier key than before is not used', async () => {
  const { agent, did } = await signingAgent(service)
  const stored: Response[] = []
  let isStale = false
  const own = new Registry(service.url, {
    cacheEntries: 0,
    fetch: async (input, init) => {
      const answer = await fetch(input, init)
      if (!/\/api\/agents\/[^/]+$/.test(String(input))) return answer
      stored.push(answer.clone())
      return isStale ? (stored[0] as Response).clone() : answer
    },
  })
  const sessions = agentSignIn({
    registry: new Registry(service.url, PATIENT_CLIENT),
    audience: SHOP,
    secret,
  })
  const visit = fetchGateway({ service: own, sessions, policy: { cacheSeconds: 0 } })
  const former = await signIn(agent)
  assert.equal((await visit(former)).status, 200)
  await rotateKey(service, did, (await newKey()).publicKey)
  assert.equal((await visit(former)).status, 401)
  isStale = true
  assert.equal((await visit(former)).decision.reasons[0].code, 'session-ended')
  const { response, decision } = await visit({ ServiceID: did })
  assert.deepEqual([response.status, decision.reasons[0].code], [503, 'service-unreachable'])
})

test('sessions without a key sequence count as those of the first key', async () => {
  const { did } = await signingAgent(service)
  const visit = fetchGateway({ service: registry, sessions: { session: async () => ({ did }) } })
  assert.equal((await visit({ authorization: 'Bearer x' })).decision.proof, 'session')
  await rotateKey(service, did, (await newKey()).publicKey)
  const other = fetchGateway({ service: registry, sessions: { session: async () => ({ did }) } })
  assert.equal((await other({ authorization: 'Bearer x' })).status, 401)
})

test('a session of a suspended or revoked agent is refused', async () => {
  for (const status of ['suspended', 'revoked'] as const) {
    const { agent, did } = await signingAgent(service)
    const visit = visitor({ policy: { cacheSeconds: 0 } })
    const session = await signIn(agent)
    assert.equal((await visit(session)).status, 200)
    await setStatus(service, did, status)
    const { status: refused, decision } = await visit(session)
    assert.deepEqual([refused, decision.reasons[0].code], [403, 'status-refused'])
  }
})

test('with several audiences, a session counts only at its own', async () => {
  const { agent } = await signingAgent(service)
  const audiences = [SHOP, BANK]
  const sessions = {
    session: async (token: string) => {
      for (const audience of audiences) {
        const session = await siteAt(audience).session(token)
        if (session !== null) return { ...session, audience }
      }
      return null
    },
  }
  const visit = fetchGateway({ service: registry, audiences, sessions })
  assert.equal((await visit(await signIn(agent, SHOP))).status, 200)
  assert.equal((await visit(await signIn(agent, BANK))).status, 401)
})

test('a signature and a session: the invalid signature refuses, another agent conflicts', async () => {
  const { agent, did } = await signingAgent(service)
  const stranger = await signingAgent(service)
  const url = await FRAMEWORKS.Hono?.(cleanup, {
    service: service.url,
    timeoutMs: 30_000,
    tlsTerminated: true,
    audiences: [SHOP],
    sessions: siteAt(SHOP),
    signInUrl: '/agent-sign-in',
    nonces: olderNonceStore(),
    policy: { requireProof: true },
  })
  assert.ok(url)
  const session = await signIn(agent)
  const bare = new Request(`${SHOP}/x`, { headers: session })
  const admitted = await send(url, bare)
  assert.equal(admitted.status, 200)
  const { agent: seen, fields } = JSON.parse(admitted.text)
  assert.deepEqual([seen.did, seen.proof], [did, 'session'])
  const proofs = fields.filter(([name]: [string]) => name.toLowerCase() === 'x-serviceid-proof')
  assert.deepEqual(proofs[0]?.[1], 'session')
  const signed = await agent.sign(`${SHOP}/x`, { headers: session })
  const both = await send(url, signed)
  assert.equal(JSON.parse(both.text).agent.proof, 'signature')
  const replayed = await send(url, signed)
  const changed = await send(url, await agent.sign(`${SHOP}/x`, { headers: session }), {
    target: '/y',
  })
  const conflict = await send(url, await stranger.agent.sign(`${SHOP}/x`, { headers: session }))
  for (const [answer, reason] of [
    [replayed, 'signature-invalid'],
    [changed, 'signature-invalid'],
    [conflict, 'identification-conflict'],
  ] as const) {
    assert.equal(answer.status, 401)
    assert.equal(JSON.parse(answer.text).error.reasons[0], reason)
  }
})

test('agent.fetch signs in at a site whose gateway accepts sessions only, and renews after a change of the key', async () => {
  const box = { url: '' }
  const decided: string[] = []
  const own = new Registry(service.url, PATIENT_CLIENT)
  const handler = () => {
    const signIn = agentSignIn({ registry: own, audience: box.url, secret })
    const admit = gateway({
      service: own,
      timeoutMs: 30_000,
      sessions: signIn,
      signInUrl: '/agent-sign-in',
      policy: { requireProof: true, cacheSeconds: 0 },
      onDecision: ({ proof, reasons }) => decided.push(`${proof} ${reasons[0].code}`),
    })(async (request: Request) => new Response(`${agentOf(request).did} ${await request.text()}`))
    return (request: Request) =>
      request.url.endsWith('/agent-sign-in') ? signIn.handle(request) : admit(request)
  }
  let handle: ReturnType<typeof handler> | null = null
  box.url = await startSite(cleanup, (request, response) =>
    nodeListener(box.url, (each) => {
      handle ??= handler()
      return handle(each)
    })(request, response),
  )
  const { agent, did } = await signingAgent(service, [box.url])
  const order = async (body: string) => {
    const answer = await agent.fetch(`${box.url}/orders`, { method: 'POST', body })
    return [answer.status, await answer.text()]
  }
  assert.deepEqual(await order('one'), [200, `${did} one`])
  assert.deepEqual(await order('two'), [200, `${did} two`])
  const verified = 'session owner-verified'
  assert.deepEqual(decided, ['none signature-unverified', verified, verified])
  const next = await newKey()
  await rotateKey(service, did, next.publicKey)
  agent.useKey(next)
  assert.deepEqual(await order('three'), [200, `${did} three`])
  assert.equal(decided.at(-1), verified)
})

test('a 401 says what to sign and where to sign in', async () => {
  for (const [name, start] of Object.entries(FRAMEWORKS)) {
    const url = await start(cleanup, {
      service: service.url,
      audiences: [SHOP],
      sessions: siteAt(SHOP),
      signInUrl: '/agent-sign-in',
    })
    const { status, headers } = await fetch(url)
    assert.equal(status, 401, name)
    const schemes = 'ServiceID sign_in="/agent-sign-in", Bearer'
    assert.equal(headers.get('www-authenticate'), schemes, name)
    assert.match(headers.get('accept-signature') ?? '', /^sig1=/, name)
  }
})

test('the sign-in URL is a path, or an address at one of the audiences', async () => {
  const fieldFor = async (signInUrl: string) => {
    const sessions = siteAt(SHOP)
    const visit = fetchGateway({ service: registry, audiences: [SHOP], sessions, signInUrl })
    return (await visit()).response.headers.get('www-authenticate')
  }
  for (const [given, named] of [
    ['/a"b\\c', '/a%22b/c'],
    ['/ä\r\nSet-Cookie: a', '/%C3%A4Set-Cookie:%20a'],
    [`${SHOP}:443/in`, `${SHOP}/in`],
  ] as const) {
    assert.equal(await fieldFor(given), `ServiceID sign_in="${named}", Bearer`)
  }
  for (const signInUrl of [
    '',
    'in',
    '//evil.example/in',
    '/\\evil.example',
    `${BANK}/in`,
    '/a?b',
  ]) {
    await assert.rejects(fieldFor(signInUrl), PolicyError, signInUrl)
  }
  assert.throws(() => fetchGateway({ service: registry, signInUrl: '/in' }), /needs `sessions`/)
})
