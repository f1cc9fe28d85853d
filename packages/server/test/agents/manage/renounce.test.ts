import assert from 'node:assert/strict'
import { sign } from 'node:crypto'
import { suite, test } from 'node:test'
import { KEY_COMPROMISED, keyThumbprint } from '@countersign/protocol'
import { type Answer, assertRefused } from '../../../../../test/support/answer.ts'
import { post } from '../../../../../test/support/ask.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { newKey, type TestKey } from '../../../../../test/support/key.ts'
import { replaceKey } from '../../../../../test/support/replace-key.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { signInBy, TestClock } from '../../../../../test/support/sign-in-by.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { claimKey, statusOf, verifyKey } from './keys.ts'
import { AGENTS, newOwner, showAgent } from './with-agent.ts'

interface Signed {
  readonly first: number
  readonly operation: string
  readonly service: string
  readonly did: string
  readonly sequence: number
  readonly next: string
  readonly issuedAt: number
}

/** The body that renounces a certificate. @param changed what is signed instead of the right values */
function renunciation(
  { url }: Pick<TestService, 'url'>,
  did: string,
  key: TestKey,
  changed: Partial<Signed> = {},
) {
  const issuedAt = changed.issuedAt ?? Math.floor(Date.now() / 1000)
  const signed: Signed = {
    first: 0xff,
    operation: 'svc-renounce-v1',
    service: url,
    did,
    sequence: 1,
    next: '-',
    issuedAt,
    ...changed,
  }
  const thumbprint = keyThumbprint(Buffer.from(key.publicKey, 'base64'))
  const { operation, service, sequence, next } = signed
  const text = `${operation}\n${service}\n${signed.did}\n${sequence}\n${thumbprint}\n${next}\n${issuedAt}`
  const bytes = Buffer.concat([Buffer.from([signed.first]), Buffer.from(text)])
  return { sequence, issuedAt, signature: sign(null, bytes, key.privateKey).toString('base64') }
}

function send(service: TestService, did: string, body: object): Promise<Answer> {
  return post(service, `/api/v1/agent/${did}/renounce`, body)
}

suite('renouncing', { concurrency: true }, () => {
  test('lets an agent leave that was tricked into a claim: its other DIDs stay, and its key is free after 72 hours', async (t) => {
    const clock = new TestClock()
    const service = await startTestService(t, {}, clock.now)
    const stranger = await service.operator.addVerifiedOwner()
    const owner = await service.operator.addVerifiedOwner()
    const key = newKey()
    const did = await claimAgent(service, stranger, key)
    const sibling = await claimAgent(service, stranger, key, 'sibling')

    const answer = await send(service, did, renunciation(service, did, key))

    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.headers.get('cache-control'), 'no-store')
    const { statusSetBy } = await showAgent(await signInBy(service, stranger, clock.now), did)
    assert.equal(statusSetBy, 'agent')
    assert.deepEqual(await statusOf(service, sibling), ['active', null])
    const last = renunciation(service, sibling, key)
    assert.equal((await send(service, sibling.slice(-24), last)).status, 200)
    assertRefused(await claimKey(service, owner, key, 'main'), 409, 'KEY_ALREADY_CLAIMED')
    // A new key is not bound to anything.
    assert.equal((await claimKey(service, owner, newKey(), 'main')).status, 200)
    clock.advance(73)
    await untilTicked(
      service,
      async () =>
        (await statusOf(service, did))[0] === 'revoked' &&
        (await statusOf(service, sibling))[0] === 'revoked',
    )
    assert.equal((await claimKey(service, owner, key, 'other')).status, 200)
    assert.equal((await verifyKey(service, key)).verified, true)
  })

  test('needs a signature by the current key over exactly the renunciation', async (t) => {
    const service = await startTestService(t)
    const { ownerId } = await newOwner(service)
    const key = newKey()
    const did = await claimAgent(service, ownerId, key)
    const other = await claimAgent(service, ownerId, key, 'other')
    const good = renunciation(service, did, key)
    const now = good.issuedAt
    const refused: [
      body: object,
      status: number,
      code: 'INVALID_SIGNATURE' | 'VALIDATION_ERROR',
    ][] = [
      [renunciation(service, did, newKey()), 401, 'INVALID_SIGNATURE'],
      [renunciation(service, did, key, { first: 0x20 }), 401, 'INVALID_SIGNATURE'],
      [renunciation(service, did, key, { operation: 'svc-rotate-v1' }), 401, 'INVALID_SIGNATURE'],
      [renunciation({ url: 'https://elsewhere.example' }, did, key), 401, 'INVALID_SIGNATURE'],
      [renunciation(service, other, key), 401, 'INVALID_SIGNATURE'],
      [{ ...good, sequence: 2 }, 401, 'INVALID_SIGNATURE'],
      [{ ...good, issuedAt: now - 1 }, 401, 'INVALID_SIGNATURE'],
      [renunciation(service, did, key, { issuedAt: now - 400 }), 400, 'VALIDATION_ERROR'],
      [renunciation(service, did, key, { issuedAt: now + 400 }), 400, 'VALIDATION_ERROR'],
      [{ ...good, issuedAt: String(now) }, 400, 'VALIDATION_ERROR'],
      [{ ...good, sequence: 0 }, 400, 'VALIDATION_ERROR'],
      [{ ...good, signature: 'AA==' }, 400, 'VALIDATION_ERROR'],
      [{ sequence: 1, issuedAt: now }, 400, 'VALIDATION_ERROR'],
    ]
    for (const [body, status, code] of refused) {
      assertRefused(await unchanged(service, () => send(service, did, body)), status, code)
    }
    const conflicting = renunciation(service, did, key, { sequence: 2 })
    const conflict = await unchanged(service, () => send(service, did, conflicting))
    assertRefused(conflict, 409, 'CONFLICT', /sequence 1/)
    const unknown = `svc:agent:${'1'.repeat(24)}`
    assertRefused(await send(service, unknown, good), 404, 'NOT_FOUND')
    assertRefused(await send(service, 'nonsense', good), 400, 'VALIDATION_ERROR')
    assert.deepEqual(await statusOf(service, did), ['active', null])
  })

  test('is not possible with a former key, or one that was reported as compromised', async (t) => {
    const service = await startTestService(t, { KEY_REUSE: 'any' })
    const [owner, reporter] = [await newOwner(service), await newOwner(service)]
    const [former, stolen] = [newKey(), newKey()]
    const rotated = await claimAgent(service, owner.ownerId, former)
    const next = Buffer.from(newKey().publicKey, 'base64')
    await replaceKey(service.operator.db, rotated.slice(-24), next)
    const byFormer = renunciation(service, rotated, former)
    assertRefused(await send(service, rotated, byFormer), 401, 'INVALID_SIGNATURE')

    const victim = await claimAgent(service, owner.ownerId, stolen, 'victim')
    const reported = await claimAgent(service, reporter.ownerId, stolen, 'reported')
    await reporter.post(`${AGENTS}/${reported}/revoke`, { reason: KEY_COMPROMISED })
    const byThief = renunciation(service, victim, stolen)
    const answer = await unchanged(service, () => send(service, victim, byThief))
    assertRefused(answer, 403, 'FORBIDDEN', /compromised/)
    assert.deepEqual(await statusOf(service, victim), ['suspended', KEY_COMPROMISED])
  })
})
