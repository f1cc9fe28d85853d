import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Agent, agentSignIn, newKey, Registry } from '@countersign/sdk'
import { claimAgent, startTestService } from '../../../test/support/service.ts'
import { setStatus } from '../../../test/support/set-status.ts'
import { visiting } from './support/direct.ts'

const AUDIENCE = 'https://shop.example'

/** A site with agents' sign-in, and an agent that has signed in. */
async function start(t: TestContext) {
  const service = await startTestService(t)
  const registry = new Registry(service.url)
  const sessions = agentSignIn({ registry, audience: AUDIENCE, secret: 's'.repeat(32) })
  const agent = new Agent({ registry, signer: await newKey() })
  const owner = await service.operator.addVerifiedOwner()
  const { did } = await agent.claim(await service.operator.issueToken(owner))
  const answer = await agent.answer(await sessions.begin(), { audience: AUDIENCE })
  const { token } = await sessions.complete(answer)
  return { service, registry, sessions, did, token, owner }
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

test('a session proves the key, with the header and without; the header alone never does', async (t) => {
  const { registry, sessions, did, token } = await start(t)
  const visit = visiting({ service: registry, sessions, policy: { requireProof: true } })
  for (const headers of [bearer(token), { ...bearer(token), ServiceID: did }]) {
    const { status, decision } = await visit(headers)
    assert.equal(status, 200)
    assert.deepEqual([decision.did, decision.proofOfPossession], [did, true])
    assert.match(decision.reasons[1]?.message ?? '', /proved the agent's key/)
  }
  const { response, decision } = await visit({ ServiceID: did })
  assert.deepEqual([response.status, decision.proofOfPossession], [401, false])
  assert.equal(decision.reasons[0].code, 'proof-required')
  assert.equal(response.headers.get('www-authenticate'), 'ServiceID, Bearer')
  assert.equal(response.headers.get('vary'), 'ServiceID, Authorization, Accept')
})

test('what was decided for a proof is not what is decided for a header', async (t) => {
  const { registry, sessions, did, token } = await start(t)
  const visit = visiting({ service: registry, sessions })
  const proofs: boolean[] = []
  for (let i = 0; i < 3; i++) {
    proofs.push((await visit({ ServiceID: did })).decision.proofOfPossession)
    proofs.push((await visit(bearer(token))).decision.proofOfPossession)
  }
  assert.deepEqual(proofs, [false, true, false, true, false, true])
})

test('a session of one agent with the name of another is no identification at all', async (t) => {
  const { service, registry, sessions, token, owner } = await start(t)
  const other = await claimAgent(service, owner)
  const visit = visiting({ service: registry, sessions })
  const { status, decision } = await visit({ ...bearer(token), ServiceID: other })
  assert.deepEqual([status, decision.reasons[0].code], [401, 'identification-conflict'])
  assert.deepEqual([decision.did, decision.proofOfPossession], [null, false])
})

test('a token of somebody else is no session, and the header counts as ever', async (t) => {
  const { registry, sessions, did, token } = await start(t)
  const visit = visiting({ service: registry, sessions })
  const elsewhere = agentSignIn({
    registry,
    audience: 'https://bank.example',
    secret: 's'.repeat(32),
  })
  assert.equal(await elsewhere.session(token), null)
  for (const wrong of ['a-token-of-the-site', `${token}x`, token.slice(1)]) {
    const { status, decision } = await visit({ ...bearer(wrong), ServiceID: did })
    assert.deepEqual([status, decision.proofOfPossession], [200, false])
    assert.equal((await visit(bearer(wrong))).status, 401)
  }
  // A gateway without sessions does not look at tokens.
  const deaf = visiting({ service: registry })
  assert.equal((await deaf(bearer(token))).status, 401)
})

test('an agent that is revoked is out although its session has not ended', async (t) => {
  const { service, registry, sessions, did, token } = await start(t)
  const visit = visiting({ service: registry, sessions, policy: { cacheSeconds: 0 } })
  assert.equal((await visit(bearer(token))).status, 200)
  await setStatus(service, did, 'revoked')
  const { status, decision } = await visit(bearer(token))
  assert.deepEqual([status, decision.reasons[0].code], [403, 'status-refused'])
})

test('who only names an agent uses up nothing of who has proved to be it', async (t) => {
  const { registry, sessions, did, token } = await start(t)
  const policy = { levels: { verified: 'limit' }, limit: { requests: 1, seconds: 3600 } } as const
  const visit = visiting({ service: registry, sessions, policy })
  assert.equal((await visit({ ServiceID: did })).status, 200)
  assert.equal((await visit({ ServiceID: did })).status, 429)
  assert.equal((await visit(bearer(token))).status, 200)
  assert.equal((await visit(bearer(token))).status, 429)
})
