import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ErrorCode } from '@countersign/protocol'
import { assertRefused } from '../../../../test/support/answer.ts'
import { post } from '../../../../test/support/ask.ts'
import { unchanged } from '../../../../test/support/database-digest.ts'
import { newKey } from '../../../../test/support/key.ts'
import { verifyBody } from '../../../../test/support/refused-posts.ts'
import { claimAgent, claimBody, startTestService } from '../../../../test/support/service.ts'

/** Faults of a claim, in the order in which they are checked. */
const CLAIM_FAULTS = ['body', 'token', 'signature', 'pair'] as const
type ClaimFault = (typeof CLAIM_FAULTS)[number]

const CLAIM_REFUSALS: Readonly<Record<ClaimFault, [number, ErrorCode]>> = {
  body: [400, 'VALIDATION_ERROR'],
  token: [404, 'NOT_FOUND'],
  signature: [401, 'INVALID_SIGNATURE'],
  pair: [409, 'KEY_ALREADY_CLAIMED'],
}

test('claim errors are reported in order: body, token, signature, pair', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  const key = newKey()
  await claimAgent(service, owner, key, 'taken')
  const live = await service.operator.issueToken(owner)

  const claimWith = (faults: readonly ClaimFault[]) => {
    const token = faults.includes('token') ? `svc-verify-${'0'.repeat(32)}` : live
    const claim = claimBody(token, key, faults.includes('pair') ? 'taken' : 'free')
    const signature = faults.includes('signature') ? key.sign('else') : claim.signature
    return { ...claim, signature, ...(faults.includes('body') && { note: 'x' }) }
  }
  for (const faults of combinationsOf(CLAIM_FAULTS)) {
    await t.test(faults.join(' and '), async () => {
      const [status, code] = CLAIM_REFUSALS[faults[0] as ClaimFault]
      const claim = () => post(service, '/api/v1/claim', claimWith(faults))
      assertRefused(await unchanged(service, claim), status, code)
    })
  }
  assert.equal((await post(service, '/api/v1/claim', claimWith([]))).status, 200)
})

test('a used token is reported before signature and pair are checked', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  const key = newKey()
  const token = await service.operator.issueToken(owner)
  const claim = claimBody(token, key)
  assert.equal((await post(service, '/api/v1/claim', claim)).status, 200)
  for (const again of [claim, { ...claim, signature: key.sign('else') }]) {
    assertRefused(await post(service, '/api/v1/claim', again), 410, 'TOKEN_EXPIRED')
  }
})

test('a key that may not be certified is reported before the token is checked', async (t) => {
  const service = await startTestService(t)
  const claim = claimBody(`svc-verify-${'0'.repeat(32)}`)
  const smallOrder = Buffer.concat([Buffer.from([1]), Buffer.alloc(31)]).toString('base64')
  const answer = await post(service, '/api/v1/claim', { ...claim, publicKey: smallOrder })
  assertRefused(answer, 400, 'VALIDATION_ERROR')
})

const VERIFY_FAULTS = ['body', 'signature', 'key'] as const
type VerifyFault = (typeof VERIFY_FAULTS)[number]

const VERIFY_REFUSALS: Readonly<Record<VerifyFault, [number, ErrorCode]>> = {
  body: [400, 'VALIDATION_ERROR'],
  signature: [401, 'INVALID_SIGNATURE'],
  key: [404, 'NOT_FOUND'],
}

test('verification errors are reported in order: body, signature, key', async (t) => {
  const service = await startTestService(t)
  const certified = newKey()
  await claimAgent(service, await service.operator.addVerifiedOwner(), certified)
  const verifyWith = (faults: readonly VerifyFault[]) => {
    const key = faults.includes('key') ? newKey() : certified
    const body = verifyBody(key)
    const signature = faults.includes('signature') ? key.sign('else') : body.signature
    return { ...body, signature, ...(faults.includes('body') && { note: 'x' }) }
  }
  for (const faults of combinationsOf(VERIFY_FAULTS)) {
    await t.test(faults.join(' and '), async () => {
      const [status, code] = VERIFY_REFUSALS[faults[0] as VerifyFault]
      const verify = () => post(service, '/api/v1/agent/verify', verifyWith(faults))
      assertRefused(await unchanged(service, verify), status, code)
    })
  }
  assert.equal((await post(service, '/api/v1/agent/verify', verifyWith([]))).status, 200)
})

test('a challenge that looks like a claim is reported before signature and key are checked', async (t) => {
  const service = await startTestService(t)
  const body = verifyBody(newKey(), `svc-verify-${'0'.repeat(32)}|main`)
  for (const each of [body, { ...body, signature: newKey().sign('else') }]) {
    const answer = await post(service, '/api/v1/agent/verify', each)
    assertRefused(answer, 400, 'VALIDATION_ERROR', /not a challenge but a claim/)
  }
})

/** All non-empty subsets, in order. */
function combinationsOf<T>(all: readonly T[]): T[][] {
  return Array.from({ length: 2 ** all.length - 1 }, (_, i) =>
    all.filter((_each, bit) => ((i + 1) >> bit) & 1),
  )
}
