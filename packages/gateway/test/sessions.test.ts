import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Agent, agentSignIn, newKey, Registry } from '@countersign/sdk'
import { PATIENT_CLIENT } from '../../../test/support/patient-client.ts'
import { claimAgent, startTestService } from '../../../test/support/service.ts'
import { fetchGateway } from './support/fetch-gateway.ts'

const AUDIENCE = 'https://shop.example'

/** A site with agent sign-in, and an agent that has signed in. */
async function start(t: TestContext) {
  const service = await startTestService(t)
  const registry = new Registry(service.url, PATIENT_CLIENT)
  const sessions = agentSignIn({ registry, audience: AUDIENCE, secret: 's'.repeat(32) })
  const agent = new Agent({ registry, signer: await newKey() })
  const owner = await service.operator.addVerifiedOwner()
  const { did } = await agent.claim(await service.operator.issueToken(owner))
  const answer = await agent.answer(await sessions.begin(), { audience: AUDIENCE })
  const { token } = await sessions.complete(answer)
  return { service, registry, sessions, did, token, owner }
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

test('a session is proof of possession with or without the header, and the header alone is not', async (t) => {
  const { registry, sessions, did, token } = await start(t)
  const visit = fetchGateway({ service: registry, sessions, policy: { requireProof: true } })
  for (const headers of [bearer(token), { ...bearer(token), ServiceID: did }]) {
    const { status, decision } = await visit(headers)
    assert.equal(status, 200)
    assert.deepEqual([decision.did, decision.proofOfPossession], [did, true])
    assert.match(decision.reasons[1]?.message ?? '', /proved possession of the agent's key/)
  }
  const { response, decision } = await visit({ ServiceID: did })
  assert.deepEqual([response.status, decision.proofOfPossession], [401, false])
  assert.equal(decision.reasons[0].code, 'proof-required')
  assert.equal(response.headers.get('www-authenticate'), 'ServiceID, Bearer')
  assert.equal(response.headers.get('vary'), 'ServiceID, Authorization, Accept')
})

test('a cached decision for a session is not used for the header alone', async (t) => {
  const { registry, sessions, did, token } = await start(t)
  const visit = fetchGateway({ service: registry, sessions })
  const proofs: boolean[] = []
  for (let i = 0; i < 3; i++) {
    proofs.push((await visit({ ServiceID: did })).decision.proofOfPossession)
    proofs.push((await visit(bearer(token))).decision.proofOfPossession)
  }
  assert.deepEqual(proofs, [false, true, false, true, false, true])
})

test('a session of one agent with a header naming another agent is refused as a conflict', async (t) => {
  const { service, registry, sessions, token, owner } = await start(t)
  const other = await claimAgent(service, owner)
  const visit = fetchGateway({ service: registry, sessions })
  const { status, decision } = await visit({ ...bearer(token), ServiceID: other })
  assert.deepEqual([status, decision.reasons[0].code], [401, 'identification-conflict'])
  assert.deepEqual([decision.did, decision.proofOfPossession], [null, false])
})

test('an invalid session token is ignored, and the header is used', async (t) => {
  const { registry, sessions, did, token } = await start(t)
  const visit = fetchGateway({ service: registry, sessions })
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
  // A gateway without sessions ignores tokens.
  const deaf = fetchGateway({ service: registry })
  assert.equal((await deaf(bearer(token))).status, 401)
})

test('callers that only name an agent do not use up the rate limit of its sessions', async (t) => {
  const { registry, sessions, did, token } = await start(t)
  const policy = { levels: { verified: 'limit' }, limit: { requests: 1, seconds: 3600 } } as const
  const visit = fetchGateway({ service: registry, sessions, policy })
  assert.equal((await visit({ ServiceID: did })).status, 200)
  assert.equal((await visit({ ServiceID: did })).status, 429)
  assert.equal((await visit(bearer(token))).status, 200)
  assert.equal((await visit(bearer(token))).status, 429)
})
