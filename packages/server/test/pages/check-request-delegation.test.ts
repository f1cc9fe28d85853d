import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { Agent, DelegatedAgent, type DelegateRequest, newKey, Registry } from '@countersign/sdk'
import { allowDelegation } from '../../../../test/support/allow-delegation.ts'
import { fileCleanup } from '../../../../test/support/file-cleanup.ts'
import { PATIENT_CLIENT } from '../../../../test/support/patient-client.ts'
import { startTestService, type TestService } from '../../../../test/support/service.ts'
import {
  check,
  checkText,
  linkOf,
  open,
  outcomesOf,
  rawRequest,
  stopOf,
  verdictOf,
} from './support/check-request.ts'

const SHOP = 'https://shop.example'
const URL_OF_ORDER = `${SHOP}/orders/7`
const cleanup = fileCleanup()
let ahead = 0
let service: TestService
let agent: Agent

before(async () => {
  service = await startTestService(cleanup, {}, () => Date.now() + ahead)
  agent = await newAgent(2)
})

async function newAgent(maxDepth: number): Promise<Agent> {
  const owner = await service.operator.addVerifiedOwner()
  const registry = new Registry(service.url, PATIENT_CLIENT)
  const made = new Agent({ registry, signer: await newKey() })
  const { did } = await made.claim(await service.operator.issueToken(owner))
  if (maxDepth > 0) await allowDelegation(service, owner, did, maxDepth)
  return made
}

/** A worker of an agent, or of another worker. */
async function worker(of: Pick<Agent, 'delegate'>, request: Partial<DelegateRequest> = {}) {
  const signer = await newKey()
  const publicKey = Buffer.from(signer.publicKey).toString('base64')
  const { chain } = await of.delegate({ publicKey, origins: [SHOP], ...request })
  return { chain, signer, delegate: new DelegatedAgent({ chain, signer }) }
}

/** A request of a worker, as it is pasted. @param change of the chain, before it is signed */
async function pasted(
  { delegate }: { readonly delegate: Pick<DelegatedAgent, 'sign'> },
  url = URL_OF_ORDER,
): Promise<string> {
  const { headers } = await delegate.sign(url)
  const { host, pathname } = new URL(url)
  return rawRequest([['Host', host], ...headers], { target: pathname })
}

/** Signs with a key and any chain, as software that does not look at it. */
function carrying(chain: string, signer: Awaited<ReturnType<typeof newKey>>) {
  const { registry, did } = agent
  const careless = new Agent({ registry, signer, did: did as string, audiences: [SHOP] })
  const headers = { 'ServiceID-Certificate': chain }
  return { delegate: { sign: (url: string) => careless.sign(url, { headers }) } }
}

test('a request of a delegate is verified, with each hop, its key, times and limits', async () => {
  const limits = { methods: ['GET', 'POST'], paths: ['/orders/*'] }
  const first = await worker(agent, { ...limits, maxDepth: 1, expiresInSeconds: 600 })
  const second = await worker(first.delegate, { methods: ['GET'] })
  const html = await check(service, await pasted(second))
  assert.match(verdictOf(html), /^Verified A delegate signed this request for the agent/)
  const { nonce, ...others } = outcomesOf(html)
  assert.deepEqual([...new Set(Object.values(others))], ['passed'])
  const order = Object.keys(others)
  assert.equal(order[order.indexOf('delegation') - 1], 'key')
  assert.equal(order[order.indexOf('delegation') + 1], 'signature')
  const text = checkText(html, 'delegation')
  assert.match(text, /Your gateway refuses chains unless delegation is set in its policy/)
  assert.match(
    text,
    /Hop 1, to the key [\w-]{43} From [-\d: ]+ until [-\d: ]+ UTC\. It allows 1 further hop\s?\. Sites: https:\/\/shop\.example Methods: GET POST Paths: \/orders\/\* MCP calls: any/,
  )
  assert.match(
    text,
    /Hop 2, to the key [\w-]{43} .*It allows no further hop\s?\. .*Methods: GET Paths: /,
  )
  assert.ok(html.includes(`href="/agent/${agent.did}"`))
  // The link has the chain, and shows the same.
  assert.match(verdictOf(await open(service, linkOf(html))), /^Verified A delegate/)
})

test('without a chain there is nothing to check', async () => {
  const html = await open(service)
  assert.equal(outcomesOf(html).delegation, 'passed')
  assert.match(checkText(html, 'delegation'), /The request has no chain of delegations/)
})

test('the step that a chain fails is named, and what was not reached', async () => {
  const { chain, signer } = await worker(agent, { paths: ['/orders/*'], maxDepth: 1 })
  const other = await worker(agent)
  const stranger = await newAgent(1)
  const foreign = await worker(stranger)
  const steps: [string, { delegate: Pick<DelegatedAgent, 'sign'> }, RegExp][] = [
    ['form', carrying(`${chain}~x`, signer), /Format: /],
    ['another key', carrying(chain, other.signer), /Keys: /],
    ['another agent', carrying(foreign.chain, foreign.signer), /Certificate: /],
    ['a changed signature', carrying(forged(chain), signer), /Signatures: /],
  ]
  for (const [name, request, words] of steps) {
    const html = await check(service, await pasted(request))
    assert.equal(stopOf(html), 'delegation failed', name)
    assert.match(checkText(html, 'delegation'), words, name)
    assert.match(verdictOf(html), /^Invalid Refuse this request/, name)
    const { key, signature } = outcomesOf(html)
    assert.deepEqual([key === 'failed', signature], [false, 'not-reached'], name)
  }
  const outside = carrying(chain, signer)
  const html = await check(service, await pasted(outside, `${SHOP}/admin`))
  assert.equal(stopOf(html), 'delegation failed')
  assert.match(verdictOf(html), /outside the limits of its delegation/)
  const { signature, status, nonce } = outcomesOf(html)
  assert.deepEqual([signature, status, nonce], ['passed', 'passed', 'not-reached'])
})

/** The chain with another signature of its last hop. */
function forged(chain: string): string {
  const at = chain.length - 10
  return chain.slice(0, at) + (chain[at] === 'A' ? 'B' : 'A') + chain.slice(at + 1)
}

test('a delegation that has expired or was ended is refused', async () => {
  const short = await worker(agent, { expiresInSeconds: 5 })
  const request = await pasted(short)
  ahead = 6_000
  const late = await check(service, request)
  ahead = 0
  assert.equal(stopOf(late), 'delegation failed')
  assert.match(checkText(late, 'delegation'), /The delegation has expired/)

  const ended = await worker(agent)
  await agent.endDelegations()
  const html = await check(service, await pasted(ended))
  assert.equal(stopOf(html), 'delegation failed')
  assert.match(verdictOf(html), /The delegation has ended/)
  assert.equal(outcomesOf(html).key, 'unchecked')
})
