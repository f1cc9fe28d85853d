import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentStatus } from '@countersign/protocol'
import { type Answer, assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { ask, post } from '../../../../test/support/ask.ts'
import { newKey, type TestKey } from '../../../../test/support/key.ts'
import { verifyBody } from '../../../../test/support/refused-posts.ts'
import { claimAgent, startTestService, type TestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'

const DID_JSON = { accept: 'application/did+json' }

interface Scene {
  readonly service: TestService
  readonly did: string
  readonly key: TestKey
}

/** The expected response of each endpoint for an agent's status. */
const ENDPOINTS: Readonly<Record<string, (scene: Scene, status: AgentStatus) => Promise<void>>> = {
  async lookup({ service, did, key }, status) {
    for (const reference of [did, did.slice(-24), encodeURIComponent(key.publicKey)]) {
      const body = jsonOf(await ask(service, `/api/v1/agent/${reference}`))
      assert.equal(body.verified, status === 'active')
      assert.deepEqual(body.certificate, { id: did, status, verifyUrl: `/agent/${did}` })
      const { claimedAt: _, ...owner } = body.owner as Record<string, unknown>
      assert.deepEqual(owner, { identityMethod: 'in-person', identityLevel: 'verified' })
    }
  },

  async verify({ service, did, key }, status) {
    const bodies = [verifyBody(key), { ...verifyBody(key), svcDid: did }]
    for (const body of bodies) {
      assert.deepEqual(jsonOf(await post(service, '/api/v1/agent/verify', body)), {
        verified: status === 'active',
        signatureValid: true,
        certified: true,
        identityLevel: 'in-person',
        agent: { svcDid: did, displayName: `Agent ${did.slice(10, 16)}`, status },
      })
    }
    const forged = { ...verifyBody(key), signature: newKey().sign('x') }
    const answer = await post(service, '/api/v1/agent/verify', forged)
    assertRefused(answer, 401, 'INVALID_SIGNATURE')
  },

  async identify({ service, did }, status) {
    const headers = { ServiceID: did }
    const body = jsonOf(await ask(service, '/api/v1/identify', { headers }))
    assert.equal(body.verified, status === 'active')
    assert.equal(body.suggestedUse, status === 'active' ? 'full' : 'deny')
    assert.equal((body.certificate as { status: string }).status, status)
  },

  async card({ service, did }, status) {
    const body = jsonOf(await ask(service, `/api/agents/${did}/card`))
    assert.equal(body.status, status)
    assert.equal(body.grade, status === 'active' ? 'C' : 'E')
  },

  async compactCard({ service, did }, status) {
    const body = jsonOf(await ask(service, `/api/v1/agent/${did}/card`))
    assert.equal(body.verificationStatus, status === 'active' ? 'verified' : 'unverified')
  },

  async agentObject({ service, did, key }, status) {
    const body = jsonOf(await ask(service, `/api/agents/${did}`))
    assert.equal(body.status, status)
    assert.equal(body.statusReason, status === 'active' ? null : 'because')
    assert.equal(body.publicKey, key.publicKey)
    assert.ok(!('agentId' in body), 'the label is the owner’s own')
  },

  async didDocument({ service, did, key }, status) {
    const answer = await ask(service, `/api/agents/${did}`, { headers: DID_JSON })
    assertDocument(answer, status)
    // The contract gives `verificationMethod` one entry (4.7), and says nothing of suspended agents.
    assert.equal(answer.text.includes(key.publicKey), status !== 'revoked')
  },

  async didJson({ service, did }, status) {
    const answer = await ask(service, `/agent/svc/agent/${did.slice(-24)}/did.json`)
    assertDocument(answer, status)
    // did-jwt accepts every key in `verificationMethod`.
    assert.equal(answer.text.includes('z6Mk'), status === 'active')
    const { verificationMethod = [] } = jsonOf<Record<string, unknown[]>>(answer)
    assert.equal(verificationMethod.length === 0, status !== 'active')
  },

  async certificate({ service, did }, status) {
    const answer = await ask(service, `/agent/${did}`)
    assert.equal(answer.status, 200)
    const word = { active: 'Active', suspended: 'Suspended', revoked: 'Revoked' }[status]
    assert.match(answer.text, new RegExp(`<strong[^>]*>${word}</strong>`))
  },

  async avatar({ service, did }) {
    assert.match((await ask(service, `/api/agents/${did}/avatar.svg`)).text, /^<svg/)
  },
}

/** Active: a key. Suspended: a key at most in `verificationMethod`. Revoked: 410 without a key. */
function assertDocument(answer: Answer, status: AgentStatus): void {
  assert.equal(answer.headers.get('content-type')?.split(';')[0], 'application/did+json')
  const body = jsonOf<Record<string, unknown[]>>(answer)
  assert.equal(answer.status, status === 'revoked' ? 410 : 200)
  for (const property of ['authentication', 'assertionMethod']) {
    assert.equal(body[property]?.length !== 0, status === 'active' || !(property in body), property)
  }
  assert.equal(body.service?.length === 0, status === 'revoked')
  if (status === 'revoked') assert.equal(answer.headers.get('cache-control'), 'no-store')
}

for (const READ_MODEL_AGENTS of ['2000000', '1']) {
  const where = READ_MODEL_AGENTS === '1' ? 'past the memory' : 'in memory'

  test(`a status that countersignd sets shows in every endpoint (${where})`, async (t) => {
    const service = await startTestService(t, { READ_MODEL_AGENTS })
    const owner = await service.operator.addVerifiedOwner()
    await claimAgent(service, owner)
    const key = newKey()
    const scene = { service, did: await claimAgent(service, owner, key), key }
    await claimAgent(service, owner)
    const steps = ['active', 'suspended', 'active', 'suspended', 'revoked'] as const
    for (const [i, status] of steps.entries()) {
      const reason = status === 'active' ? null : 'because'
      if (i > 0) await setStatus(service, scene.did, status, reason)
      for (const [name, check] of Object.entries(ENDPOINTS)) {
        await t.test(`${i}: ${status}: ${name}`, () => check(scene, status))
      }
    }
  })
}

test('revoked is final: neither the operator nor a claim brings the DID back', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  const key = newKey()
  const did = await claimAgent(service, owner, key)
  await setStatus(service, did, 'revoked')
  for (const to of ['active', 'suspended', 'revoked'] as const) {
    await assert.rejects(setStatus(service, did, to), { code: 'VALIDATION_ERROR' })
  }
  await claimAgent(service, owner, key)
  const { status } = jsonOf(await ask(service, `/api/agents/${did}`))
  assert.equal(status, 'revoked')
})
