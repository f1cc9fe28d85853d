import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { memoryNonceStore as storeOf } from '@countersign/protocol'
import { fileCleanup } from '../../../../test/support/file-cleanup.ts'
import { startSite } from '../../../../test/support/impostor.ts'
import { startTestService, type TestService } from '../../../../test/support/service.ts'
import { until } from '../../../../test/support/until.ts'
import { Agent } from '../../src/agent.ts'
import { newKey } from '../../src/keys/keys.ts'
import { Registry } from '../../src/registry.ts'
import { verifyRequest } from '../../src/relying-party/verify-request.ts'
import { type ReceivedRequest, rawRequestOf } from '../support/signed-site.ts'

const cleanup = fileCleanup()
const POST = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'one lamp' }
const NONCE = 'n'.repeat(44)
let started: Promise<TestService> | undefined

async function agentFor(site: string) {
  started ??= startTestService(cleanup)
  const service = await started
  const registry = new Registry(service.url)
  const agent = new Agent({ registry, signer: await newKey(), audiences: [site] })
  const owner = await service.operator.addVerifiedOwner()
  await agent.claim(await service.operator.issueToken(owner))
  return { agent, registry }
}

const inputOf = ({ headers }: ReceivedRequest) =>
  headers.find(([name]) => name.toLowerCase() === 'signature-input')?.[1] ?? ''

test('an agent is admitted by a site that has just started, with one more request', async (t) => {
  const nonces = storeOf({
    now: Date.now,
    random: () => Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('base64url'),
  })
  const received: ReceivedRequest[] = []
  const statuses: number[] = []
  const site: string = await startSite(t, async (incoming, response) => {
    const request = await rawRequestOf(incoming)
    received.push(request)
    const { status } = await verifyRequest(request, { registry, audiences: [site], nonces })
    statuses.push(status)
    const field = `sig1=();nonce="${nonces.challenge?.()}";tag="web-bot-auth"`
    response.writeHead(status, { 'accept-signature': field, 'retry-after': '35' }).end()
  })
  const { agent, registry } = await agentFor(site)
  assert.equal((await agent.fetch(`${site}/orders`, POST)).status, 200)
  assert.deepEqual(statuses, [503, 200])
  assert.deepEqual(
    received.map(({ body }) => Buffer.from(body).toString()),
    [POST.body, POST.body],
  )
})

test('it signs with a nonce once, covers what it would cover anyway, and never for another site', async (t) => {
  const received: ReceivedRequest[] = []
  let field = `sig1=("@method");nonce="${NONCE}";tag="web-bot-auth"`
  let status = 503
  const site = await startSite(t, async (incoming, response) => {
    received.push(await rawRequestOf(incoming))
    response.writeHead(status, { 'accept-signature': field }).end()
  })
  const { agent } = await agentFor(site)
  const ask = async () => {
    received.length = 0
    await agent.fetch(`${site}/orders`, POST)
    return received.map(inputOf)
  }
  const [first, second, ...more] = await ask()
  assert.equal(more.length, 0)
  assert.ok(!first?.includes(NONCE))
  assert.ok(second?.includes(`;nonce="${NONCE}";`))
  const covered = (input = '') => input.slice(0, input.indexOf(')'))
  assert.equal(covered(second), covered(first))
  assert.match(covered(second), /"@authority"/)
  status = 401
  assert.equal((await ask()).length, 2)
  for (const other of [200, 400, 403, 429, 500]) {
    status = other
    assert.equal((await ask()).length, 1, String(other))
  }
  status = 503
  for (const refused of [
    'sig1=();tag="web-bot-auth"',
    `sig1=();nonce="short";tag="web-bot-auth"`,
    `sig1=();nonce="${'+'.repeat(30)}";tag="web-bot-auth"`,
    `a=();nonce="${NONCE}";tag="web-bot-auth", b=();nonce="${NONCE}";tag="web-bot-auth"`,
  ]) {
    field = refused
    assert.equal((await ask()).length, 1, refused)
  }
})

/** A site that cannot judge the first signature, and admits the later ones. */
async function startBlindSite(t: TestContext, refusal: Record<string, string>) {
  const received: ReceivedRequest[] = []
  const site = await startSite(t, async (incoming, response) => {
    received.push(await rawRequestOf(incoming))
    if (received.length > 1) response.writeHead(200).end()
    else response.writeHead(503, refusal).end()
  })
  return { site, received }
}

const LATER = { 'accept-signature': 'sig1=();created;expires;tag="web-bot-auth"' }

test('a site that asks to sign again later gets the request once more, with another signature', async (t) => {
  for (const retryAfter of ['0', '1', new Date(Date.now() - 1000).toUTCString()]) {
    for (const method of retryAfter === '1' ? ['POST'] : ['GET', 'POST', 'DELETE']) {
      const refusal = { ...LATER, 'retry-after': retryAfter }
      const { site, received } = await startBlindSite(t, refusal)
      const { agent } = await agentFor(site)
      const body =
        method === 'POST' ? { body: new Blob(['one lamp']).stream(), duplex: 'half' } : {}
      const response = await agent.fetch(`${site}/orders`, { method, ...body } as RequestInit)
      assert.equal(response.status, 200)
      const [first, second] = received
      assert.ok(first && second)
      assert.deepEqual(second.body, first.body)
      assert.notEqual(inputOf(second), inputOf(first))
      const createdAt = (each: ReceivedRequest) => Number(/;created=(\d+)/.exec(inputOf(each))?.[1])
      if (retryAfter === '1') assert.ok(createdAt(second) > createdAt(first))
    }
  }
})

test('it waits no longer than it may, for no other refusal, and not against the caller', async (t) => {
  const soon = { ...LATER, 'retry-after': '0' }
  const far = { ...LATER, 'retry-after': '61' }
  const refusals = [far, { 'retry-after': '0' }, LATER, { ...soon, 'accept-signature': 'x' }]
  for (const refusal of refusals) {
    const { site, received } = await startBlindSite(t, refusal)
    const { agent } = await agentFor(site)
    assert.equal((await agent.fetch(site, POST)).status, 503, JSON.stringify(refusal))
    assert.equal(received.length, 1)
  }
  const { site, received } = await startBlindSite(t, { ...LATER, 'retry-after': '50' })
  const { agent, registry } = await agentFor(site)
  const caller = new AbortController()
  const response = agent.fetch(site, { ...POST, signal: caller.signal })
  await until(async () => received.length === 1)
  caller.abort(new Error('enough'))
  await assert.rejects(response, /enough/)
  const signer = await newKey()
  const hasty = { registry, signer, did: `svc:agent:${'z'.repeat(24)}`, maxRetryAfterMs: 0 }
  const another = await startBlindSite(t, { ...LATER, 'retry-after': '1' })
  const impatient = new Agent({ ...hasty, audiences: [another.site] })
  assert.equal((await impatient.fetch(another.site, POST)).status, 503)
  const endless = await startSite(t, (_, answer) => answer.writeHead(503, soon).end())
  const last = await agentFor(endless)
  assert.equal((await last.agent.fetch(endless, POST)).status, 503)
})
