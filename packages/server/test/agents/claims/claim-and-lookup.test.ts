import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newKey } from '../../../../../test/support/key.ts'
import { claimAgent, startTestService } from '../../../../../test/support/service.ts'

test('a DID is live immediately after its claim, by DID, tail and key', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner('ada')
  const key = newKey()
  const did = await claimAgent(service, owner, key)
  for (const reference of [did, did.slice(-24), encodeURIComponent(key.publicKey)]) {
    const response = await fetch(`${service.url}/api/v1/agent/${reference}`)
    assert.equal(response.status, 200)
    const lookup = (await response.json()) as { owner: { claimedAt: string } }
    assert.deepEqual(lookup, {
      verified: true,
      owner: {
        identityMethod: 'in-person',
        identityLevel: 'verified',
        claimedAt: lookup.owner.claimedAt,
      },
      certificate: { id: did, status: 'active', verifyUrl: `/agent/${did}` },
    })
  }
})
