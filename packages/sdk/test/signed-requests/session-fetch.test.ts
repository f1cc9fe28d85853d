import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { fileCleanup } from '../../../../test/support/file-cleanup.ts'
import { startSite } from '../../../../test/support/impostor.ts'
import { startTestService, type TestService } from '../../../../test/support/service.ts'
import { Agent } from '../../src/agent.ts'
import { newKey } from '../../src/keys/keys.ts'
import { nodeListener } from '../../src/node/node-listener.ts'
import { agentSignIn } from '../../src/relying-party/agent-sign-in.ts'
import { signInUrlOf } from '../../src/signed-requests/sign-in-url.ts'
import { type CertifiedAgent, certifiedAgent, registryOf } from '../support/certified.ts'
import { failsWith } from '../support/fails.ts'

const SECRET = 'a secret of at least thirty-two bytes'
const cleanup = fileCleanup()
let service: TestService
let certified: CertifiedAgent

before(async () => {
  service = await startTestService(cleanup)
  certified = await certifiedAgent(service)
})

interface Arrived {
  readonly path: string
  readonly proof: 'session' | 'signature' | 'other'
  readonly body: string
}

/** A site that admits sessions only, and names its sign-in endpoint. */
async function sessionSite(challenge = 'ServiceID sign_in="/agent-sign-in", Bearer') {
  const site = { url: '', now: Date.now(), signIns: 0, rejects: false, arrived: [] as Arrived[] }
  site.url = await startSite(cleanup, (request, response) =>
    nodeListener(site.url, handle)(request, response),
  )
  const registry = registryOf(service)
  const signIn = agentSignIn({ registry, audience: site.url, secret: SECRET, now: () => site.now })
  async function handle(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    if (pathname === '/agent-sign-in') {
      if (request.method === 'POST') site.signIns += 1
      return signIn.handle(request)
    }
    const { headers } = request
    const bearer = /^Bearer ey/.test(headers.get('authorization') ?? '')
    const proof = bearer ? 'session' : headers.has('signature') ? 'signature' : 'other'
    site.arrived.push({ path: pathname, proof, body: await request.text() })
    if (pathname === '/moved')
      return new Response(null, { status: 307, headers: { location: '/x' } })
    const session = await signIn.session(request)
    if (session && !site.rejects) return new Response(session.did)
    return new Response(null, { status: 401, headers: { 'www-authenticate': challenge } })
  }
  return site
}

const agentFor = (...audiences: string[]) => {
  const { key, did } = certified
  return new Agent({ registry: registryOf(service), signer: key, did, audiences })
}

const proofs = (arrived: readonly Arrived[]) => arrived.map(({ proof }) => proof)

test('fetch signs in where a 401 says, repeats the request once, and uses the session from then on', async () => {
  const site = await sessionSite()
  const agent = agentFor(site.url)
  const answer = await agent.fetch(`${site.url}/orders`, { method: 'POST', body: 'two' })
  assert.deepEqual([answer.status, await answer.text()], [200, certified.did])
  assert.equal((await agent.fetch(`${site.url}/moved`)).status, 200)
  assert.deepEqual(proofs(site.arrived), ['signature', 'session', 'session', 'session'])
  assert.deepEqual([site.arrived[0]?.body, site.arrived[1]?.body, site.signIns], ['two', 'two', 1])
})

test('requests at the same time share one sign-in, and a session that has ended is renewed once', async () => {
  const site = await sessionSite()
  const agent = agentFor(site.url)
  const statuses = async () =>
    (await Promise.all([1, 2, 3, 4, 5].map(() => agent.fetch(site.url)))).map((each) => each.status)
  assert.deepEqual(await statuses(), [200, 200, 200, 200, 200])
  assert.equal(site.signIns, 1)
  site.now += 16 * 60_000
  assert.deepEqual(await statuses(), [200, 200, 200, 200, 200])
  assert.equal(site.signIns, 2)
})

test('an expired session is not sent', async () => {
  const site = await sessionSite()
  const { key, did } = certified
  let now = Date.now()
  const registry = registryOf(service)
  const options = { registry, signer: key, did, audiences: [site.url], now: () => now }
  const agent = new Agent(options)
  await agent.fetch(site.url)
  now += 15 * 60_000
  await agent.fetch(site.url)
  assert.deepEqual(proofs(site.arrived), ['signature', 'session', 'signature', 'session'])
})

test('a site that accepts no session gets the request twice, and one sign-in', async () => {
  const site = await sessionSite()
  site.rejects = true
  const agent = agentFor(site.url)
  assert.equal((await agent.fetch(site.url)).status, 401)
  assert.deepEqual([proofs(site.arrived), site.signIns], [['signature', 'session'], 1])
  assert.equal((await agent.fetch(site.url)).status, 401)
  assert.deepEqual([proofs(site.arrived).slice(2), site.signIns], [['session', 'session'], 2])
})

test('a request with its own Authorization is signed, and never gets a session', async () => {
  const site = await sessionSite()
  const headers = { authorization: 'Basic dXNlcjpwYXNz' }
  assert.equal((await agentFor(site.url).fetch(site.url, { headers })).status, 401)
  assert.deepEqual([proofs(site.arrived), site.signIns], [['signature'], 0])
})

test('after a change of the key, the sessions of the previous key are not used', async () => {
  const site = await sessionSite()
  const agent = agentFor(site.url)
  await agent.fetch(site.url)
  agent.useKey(await newKey())
  await failsWith('NOT_ADMITTED', agent.fetch(site.url))
  assert.deepEqual(proofs(site.arrived), ['signature', 'session', 'signature', 'signature'])
})

test('signIn gives fetch its session, for audiences only', async () => {
  const site = await sessionSite()
  const agent = agentFor(site.url)
  const { did } = await agent.signIn(`${site.url}/agent-sign-in`)
  assert.equal(did, certified.did)
  assert.equal((await agent.fetch(site.url)).status, 200)
  assert.deepEqual(proofs(site.arrived), ['session'])
  const { key, did: strangeDid } = certified
  const options = { registry: registryOf(service), signer: key, did: strangeDid } as const
  const stranger = new Agent({ ...options, unlisted: 'plain' })
  await stranger.signIn(`${site.url}/agent-sign-in`)
  assert.equal((await stranger.fetch(site.url)).status, 401)
  assert.deepEqual(proofs(site.arrived), ['session', 'other'])
})

test('a site cannot make the agent sign in elsewhere, or relay the challenge of another site', async () => {
  const bank = await sessionSite()
  for (const challenge of [
    `ServiceID sign_in="${bank.url}/agent-sign-in"`,
    `ServiceID sign_in="//${new URL(bank.url).host}/agent-sign-in"`,
    'OtherID sign_in="/agent-sign-in"',
  ]) {
    const site = await sessionSite(challenge)
    const agent = agentFor(site.url, bank.url)
    assert.equal((await agent.fetch(site.url)).status, 401)
    assert.deepEqual([site.signIns, bank.signIns, bank.arrived.length], [0, 0, 0], challenge)
  }
  const relay: string = await startSite(cleanup, async (_, response) => {
    const answer = await fetch(`${bank.url}/agent-sign-in`)
    response.writeHead(_.url === '/in' ? 200 : 401, {
      'www-authenticate': 'ServiceID sign_in="/in"',
      'content-type': 'application/json',
    })
    response.end(await answer.text())
  })
  await failsWith('WRONG_AUDIENCE', agentFor(relay, bank.url).fetch(relay))
  assert.equal(bank.signIns, 0)
})

test('the sign-in URL is read as RFC 9110 has it, or not at all', () => {
  const at = 'https://shop.example/a/b?c'
  const url = (field: string, status = 401) => {
    const headers = { 'www-authenticate': field }
    return signInUrlOf(new Response(null, { status, headers }), at, 'ServiceID')?.href ?? null
  }
  const own = 'https://shop.example/in'
  for (const field of [
    'ServiceID sign_in="/in"',
    'serviceid SIGN_IN = "/in"',
    'ServiceID sign_in="\\/in", Bearer',
    'Basic realm="a, ServiceID sign_in=\\"/x\\"", ServiceID realm="b", sign_in="/in"',
    'Basic dXNlcjpwYXNz==, ServiceID sign_in="/in"',
    'Bearer, ServiceID, ServiceID sign_in="https://shop.example:443/in"',
  ]) {
    assert.equal(url(field), own, field)
  }
  for (const field of [
    '',
    'ServiceID',
    'ServiceID, Bearer sign_in="/in"',
    'Bearer realm="ServiceID sign_in=/in"',
    'ServiceID sign_in="/in", ServiceID sign_in="/in"',
    'ServiceID sign_in="/in", sign_in="/other"',
    'ServiceID sign_in="/in',
    'ServiceID sign_in="http://shop.example/in"',
    'ServiceID sign_in="https://shop.example.evil.example/in"',
    'ServiceID sign_in="https://user@shop.example/in"',
    'ServiceID sign_in="javascript:alert(1)"',
    `ServiceID sign_in="/${'x'.repeat(8192)}"`,
  ]) {
    assert.equal(url(field), null, field)
  }
  assert.equal(url('ServiceID sign_in="/in"', 403), null)
})
