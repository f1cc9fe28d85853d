import assert from 'node:assert/strict'
import { randomBytes, sign } from 'node:crypto'
import { after, before, test } from 'node:test'
import {
  appendHop,
  type DelegationLimits,
  type HeaderList,
  keyThumbprint,
} from '@countersign/protocol'
import { certificateOf } from '../../../../../test/support/agent-certificates.ts'
import { allowDelegation } from '../../../../../test/support/allow-delegation.ts'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask, post } from '../../../../../test/support/ask.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { newKey, type TestKey } from '../../../../../test/support/key.ts'
import { endDelegationsWith, renounceWith } from '../../../../../test/support/key-operations.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import { signedHeaders, type UnsignedRequest } from '../../../../../test/support/sign-request.ts'

const SHOP = 'https://shop.example'
const POLICY = { maxDepth: 3, maxSeconds: 86_400, mcp: true }
const ANY: DelegationLimits = { origins: [SHOP], methods: null, paths: null, mcp: null }

const ends: (() => unknown)[] = []
let service: TestService

before(async () => {
  service = await startTestService({ after: (end) => ends.push(end) })
})
after(async () => {
  for (const end of ends) await end()
})

interface Delegated {
  readonly did: string
  readonly key: TestKey
  readonly delegate: TestKey
  readonly chain: string
}

async function delegated(limits: Partial<DelegationLimits> = {}, maxDepth = 1): Promise<Delegated> {
  const owner = await service.operator.addVerifiedOwner()
  const [key, delegate] = [newKey(), newKey()]
  const did = await claimAgent(service, owner, key)
  if (maxDepth > 0) await allowDelegation(service, owner, did, maxDepth)
  const chain = await hopTo(delegate, key, await certificateOf(service, did), limits)
  return { did, key, delegate, chain }
}

const bytesOf = ({ publicKey }: TestKey) => new Uint8Array(Buffer.from(publicKey, 'base64'))
const thumbprintOf = (key: TestKey) => keyThumbprint(bytesOf(key))

function hopTo(to: TestKey, by: TestKey, before: string, limits: Partial<DelegationLimits> = {}) {
  const issuedAt = Math.floor(Date.now() / 1000)
  const nonce = randomBytes(18).toString('base64url')
  const hop = { publicKey: bytesOf(to), issuedAt, expiresAt: issuedAt + 600, nonce, maxDepth: 0 }
  return appendHop(
    before,
    { ...hop, limits: { ...ANY, ...limits } },
    async (message) => new Uint8Array(sign(null, message, by.privateKey)),
  )
}

/** A request of the delegate, as a site passes it on. */
async function received(
  { did, delegate, chain }: Delegated,
  request: Partial<UnsignedRequest> = {},
): Promise<{ method: string; url: string; headers: HeaderList; audience: string }> {
  const { method = 'GET', url = `${SHOP}/orders`, headers = [] } = request
  const carried = [...headers, ['ServiceID-Certificate', chain] as const]
  const signed = await signedHeaders(service, did, delegate, { method, url, headers: carried })
  return { method, url, headers: signed, audience: SHOP }
}

interface Verdict {
  readonly verdict: string
  readonly reason: string | null
  readonly svcDid: string | null
  readonly keyid: string | null
  readonly replayKey: string | null
  readonly delegation: { readonly fault: string | null; readonly hops: readonly object[] } | null
}

async function verdictOn(request: object): Promise<Verdict> {
  const answer = await unchanged(service, () => post(service, '/api/v1/verify-request', request))
  assert.equal(answer.status, 200, answer.text)
  return jsonOf<Verdict>(answer)
}

test('verify-request refuses a delegate unless the site accepts it, and then says who it acts for', async () => {
  const agent = await delegated({ methods: ['GET'], paths: ['/orders'] })
  const request = await received(agent)
  const refused = await verdictOn(request)
  assert.deepEqual(
    [refused.verdict, refused.reason, refused.svcDid, refused.replayKey],
    ['invalid', 'delegation-refused', null, null],
  )
  const { verdict, svcDid, keyid, replayKey, delegation } = await verdictOn({
    ...request,
    delegation: POLICY,
  })
  assert.deepEqual([verdict, svcDid, keyid], ['verified', agent.did, thumbprintOf(agent.delegate)])
  assert.match(replayKey ?? '', /^[\w-]{43}$/)
  const [shown = {}] = delegation?.hops ?? []
  const { issuedAt, expiresAt, ...hop } = shown as Record<string, string>
  assert.equal(Date.parse(expiresAt ?? '') - Date.parse(issuedAt ?? ''), 600_000)
  assert.deepEqual(hop, {
    keyid,
    maxDepth: 0,
    limits: { origins: [SHOP], methods: ['GET'], paths: ['/orders'], mcp: null },
  })

  const own = await signedHeaders(service, agent.did, agent.key, { url: `${SHOP}/orders` })
  const byAgent = await verdictOn({ ...request, headers: own, delegation: POLICY })
  assert.deepEqual([byAgent.verdict, byAgent.delegation], ['verified', null])
})

test('what is outside the limits, the policy or the permission of the owner is refused', async () => {
  const agent = await delegated({ methods: ['GET'], paths: ['/orders/*'] })
  const reasonOf = async (request: Partial<UnsignedRequest>, policy: object = POLICY) => {
    const { reason, delegation } = await verdictOn({
      ...(await received(agent, request)),
      delegation: policy,
    })
    return delegation?.fault ?? reason
  }
  const inside = { url: `${SHOP}/orders/1` }
  assert.equal(await reasonOf(inside), null)
  assert.equal(await reasonOf({ ...inside, method: 'HEAD' }), 'delegation-limit')
  for (const path of ['/orders', '/Orders/1', '/orders//1', '/orders/;a', '/orders/a%2Fb']) {
    assert.equal(await reasonOf({ url: SHOP + path }), 'delegation-limit', path)
  }
  const headers = [['X-HTTP-Method-Override', 'DELETE']] as const
  assert.equal(await reasonOf({ ...inside, headers }), 'delegation-limit')
  assert.equal(await reasonOf(inside, { ...POLICY, maxSeconds: 599 }), 'delegation-refused')

  const further = newKey()
  const chain = await hopTo(further, agent.delegate, agent.chain)
  const deeper = await received({ ...agent, delegate: further, chain })
  assert.equal((await verdictOn({ ...deeper, delegation: POLICY })).delegation?.fault, 'depth')

  // A thief who has the key of an agent whose owner never allowed delegation.
  const forbidden = await received(await delegated({}, 0))
  assert.equal((await verdictOn({ ...forbidden, delegation: POLICY })).delegation?.fault, 'depth')

  for (const wrong of [
    null,
    {},
    { ...POLICY, maxDepth: 4 },
    { ...POLICY, maxSeconds: 0 },
    { ...POLICY, mcp: 'true' },
    { ...POLICY, further: 1 },
  ]) {
    const answer = await post(service, '/api/v1/verify-request', {
      ...(await received(agent, inside)),
      delegation: wrong,
    })
    assertRefused(answer, 400, 'VALIDATION_ERROR')
  }
})

test('the certificate of another agent is no root for a request that names this one', async () => {
  const [one, other] = [await delegated(), await delegated()]
  const faultOf = async (chain: string) => {
    const request = await received({ ...one, chain })
    return (await verdictOn({ ...request, delegation: POLICY })).delegation?.fault
  }
  const foreign = await certificateOf(service, other.did)
  assert.equal(await faultOf(await hopTo(one.delegate, other.key, foreign)), 'root')
  assert.equal(await faultOf(await hopTo(one.delegate, one.key, foreign)), 'root')
  const own = await certificateOf(service, one.did)
  assert.equal(await faultOf(await hopTo(one.delegate, other.key, own)), 'signature')
  const forged = own.replace(/[^.]+$/, foreign.slice(foreign.lastIndexOf('.') + 1))
  assert.equal(await faultOf(await hopTo(one.delegate, one.key, forged)), 'root')
})

test('every chain ends at once when the agent ends its delegations, and pauses with a suspension', async () => {
  const agent = await delegated()
  const reasonNow = async (of: Delegated = agent) =>
    (await verdictOn({ ...(await received(of)), delegation: POLICY })).reason
  assert.equal(await reasonNow(), null)
  await setStatus(service, agent.did, 'suspended')
  assert.equal(await reasonNow(), 'suspended')
  await setStatus(service, agent.did, 'active')
  assert.equal(await reasonNow(), null)
  const issuedAt = Math.floor(Date.now() / 1000)
  const { did, key } = agent
  const ended = await endDelegationsWith(service, did, { old: key, sequence: 1 }, { issuedAt })
  assert.equal(ended.status, 200, ended.text)
  assert.equal(await reasonNow(), 'delegation-ended')
  const chain = await hopTo(agent.delegate, key, await certificateOf(service, did))
  assert.equal(await reasonNow({ ...agent, chain }), null)
})

test('for the service itself, a delegate is nobody, whatever chain it has', async () => {
  const agent = await delegated()
  const { did, delegate } = agent
  const { publicKey } = delegate
  const challenge = 'a challenge'
  const signature = delegate.sign(challenge)
  const answer = await post(service, '/api/v1/agent/verify', { publicKey, challenge, signature })
  assertRefused(answer, 404, 'NOT_FOUND')
  for (const path of [
    `/api/v1/agent/${encodeURIComponent(publicKey)}`,
    `/api/v1/keys/${thumbprintOf(delegate)}`,
  ]) {
    assert.equal((await ask(service, path)).status, 404, path)
  }
  const issuedAt = Math.floor(Date.now() / 1000)
  const stolen = { old: delegate, sequence: 1 }
  assertRefused(await renounceWith(service, did, stolen, { issuedAt }), 401, 'INVALID_SIGNATURE')
  assertRefused(
    await endDelegationsWith(service, did, stolen, { issuedAt }),
    401,
    'INVALID_SIGNATURE',
  )
})

test('a delegate gets no grant, and neither creates nor ends groups of delegations', async () => {
  const { did, delegate, key } = await delegated()
  const chain = await hopTo(delegate, key, await certificateOf(service, did), {
    origins: [service.url],
  })
  const grant = { audience: 'https://as.example', tokenEndpoint: 'https://as.example/t' }
  for (const [operation, content] of [
    ['grant', grant],
    ['delegations', { label: 'nightly import' }],
    [`delegations/${'0'.repeat(32)}/end`, {}],
  ] as const) {
    const path = `/api/v1/agent/${did}/${operation}`
    const body = JSON.stringify(content)
    const headers = await signedHeaders(service, did, delegate, {
      method: 'POST',
      url: service.url + path,
      body,
      headers: [
        ['Content-Type', 'application/json'],
        ['ServiceID-Certificate', chain],
      ],
    })
    const send = () =>
      ask(service, path, { method: 'POST', body, headers: Object.fromEntries(headers) })
    const refusal = /A delegated key cannot do this\. Ask the agent\./
    assertRefused(await unchanged(service, send), 403, 'FORBIDDEN', refusal)
  }
})
