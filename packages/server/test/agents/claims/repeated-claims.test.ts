import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused } from '../../../../../test/support/answer.ts'
import { post } from '../../../../../test/support/ask.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { newKey, type TestKey } from '../../../../../test/support/key.ts'
import {
  claimAgent,
  claimBody,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'

/** Claims in vain. @returns the field Location */
async function refusedAt(
  service: TestService,
  claim: object,
  status: 409 | 410,
): Promise<string | null> {
  const answer = await unchanged(service, () => post(service, '/api/v1/claim', claim))
  assertRefused(answer, status, status === 409 ? 'KEY_ALREADY_CLAIMED' : 'TOKEN_EXPIRED')
  return answer.headers.get('location')
}

async function usedToken(service: TestService, owner: number): Promise<string> {
  const token = await service.operator.issueToken(owner)
  assert.equal((await post(service, '/api/v1/claim', claimBody(token))).status, 200)
  return token
}

test('a refused claim tells the holder of the key where its certificate is', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  const key = newKey()
  const did = await claimAgent(service, owner, key, 'main')
  const own = `/api/agents/${did}`
  const used = await usedToken(service, owner)
  const unused = await service.operator.issueToken(owner)
  assert.equal(await refusedAt(service, claimBody(unused, key, 'main'), 409), own)
  assert.equal(await refusedAt(service, claimBody(used, key, 'main'), 410), own)
  assert.equal(await refusedAt(service, claimBody(used, key, 'other'), 410), null)
  await setStatus(service, did, 'suspended')
  assert.equal(await refusedAt(service, claimBody(used, key, 'main'), 410), own)
  await setStatus(service, did, 'revoked')
  assert.equal(await refusedAt(service, claimBody(used, key, 'main'), 410), null)
})

test('nobody else learns it, and no other owner gets it', async (t) => {
  for (const KEY_REUSE of ['owner', 'any']) {
    const service = await startTestService(t, { KEY_REUSE })
    const owner = await service.operator.addVerifiedOwner()
    const another = await service.operator.addVerifiedOwner()
    const key = newKey()
    await claimAgent(service, owner, key, 'main')
    const used = await usedToken(service, owner)
    const forged = (by: TestKey) => ({ ...claimBody(used, key), signature: by.sign('else') })
    assert.equal(await refusedAt(service, forged(newKey()), 410), null)
    assert.equal(await refusedAt(service, forged(key), 410), null)
    const theirs = await usedToken(service, another)
    assert.equal(await refusedAt(service, claimBody(theirs, key, 'main'), 410), null)
    const fresh = await service.operator.issueToken(another)
    assert.equal(await refusedAt(service, claimBody(fresh, key, 'main'), 409), null)
  }
})
