import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { IssuedToken, IssuedTokens } from '@countersign/protocol'
import { type Answer, assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { post } from '../../../../../test/support/ask.ts'
import { newKey } from '../../../../../test/support/key.ts'
import {
  claimBody,
  postJson,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { type SignedInOwner, signIn } from '../../../../../test/support/signed-in.ts'
import { addOwner } from '../../../src/accounts/owners/add-owner.ts'

async function issueBatch(owner: SignedInOwner, count: number): Promise<IssuedTokens> {
  const answer = await owner.post('/api/agents/tokens', { count })
  assert.equal(answer.status, 201, answer.text)
  return jsonOf<IssuedTokens>(answer)
}

async function claimWith({ url }: TestService, token: string): Promise<number> {
  return (await postJson(`${url}/api/v1/claim`, claimBody(token, newKey()))).status
}

test('batches of claim tokens', async (t) => {
  const service = await startTestService(t)
  const owner = await signIn(service, await service.operator.addVerifiedOwner())

  await t.test('each token of a batch redeems one certificate, for 10 minutes', async () => {
    const issued = await issueBatch(owner, 100)
    assert.deepEqual(Object.keys(issued).sort(), ['claimTokens', 'expiresAt', 'expiresIn'])
    assert.equal(issued.expiresIn, 600)
    const left = Date.parse(issued.expiresAt) - Date.now()
    assert.ok(left > 0 && left <= 600_000, `${left}`)
    const { claimTokens: tokens } = issued
    assert.equal(new Set(tokens).size, 100)
    for (const token of [tokens[0], tokens[50], tokens[99]] as string[]) {
      assert.equal(await claimWith(service, token), 200)
      assert.equal(await claimWith(service, token), 410)
    }
  })

  await t.test('the next issuance, of either kind, invalidates what remains', async () => {
    const first = (await issueBatch(owner, 3)).claimTokens as string[]
    assert.equal(await claimWith(service, first[0] as string), 200)
    const second = (await issueBatch(owner, 2)).claimTokens as string[]
    assert.deepEqual(
      [
        await claimWith(service, first[1] as string),
        await claimWith(service, first[2] as string),
        await claimWith(service, second[0] as string),
      ],
      [410, 410, 200],
    )
    const { claimToken } = jsonOf<IssuedToken>(await owner.post('/api/agents/token'))
    assert.equal(await claimWith(service, second[1] as string), 410)
    const { claimTokens } = await issueBatch(owner, 1)
    assert.equal(await claimWith(service, claimToken), 410)
    assert.equal(await claimWith(service, claimTokens[0] as string), 200)
  })

  await t.test('of issuances at once, the tokens of exactly one stay valid', async () => {
    for (let round = 0; round < 6; round++) {
      const answers: Answer[] = await Promise.all([
        owner.post('/api/agents/tokens', { count: 4 }),
        owner.post('/api/agents/tokens', { count: 7 }),
        owner.post('/api/agents/token'),
        owner.post('/api/agents/tokens', { count: 4 }),
      ])
      const batches = answers.map((answer) => {
        assert.equal(answer.status, 201, answer.text)
        const { claimTokens, claimToken } = jsonOf<Partial<IssuedTokens & IssuedToken>>(answer)
        return claimTokens ?? [claimToken as string]
      })
      const outcomes: string[] = []
      for (const batch of batches) {
        const statuses = await Promise.all(batch.map((token) => claimWith(service, token)))
        const kinds = new Set(statuses)
        assert.equal(kinds.size, 1, `a batch is valid as a whole or not at all: ${statuses}`)
        outcomes.push(String(statuses[0]))
      }
      assert.deepEqual(outcomes.toSorted(), ['200', '410', '410', '410'])
    }
  })

  await t.test('the count is a whole number from 1 to 100', async () => {
    for (const body of [{}, { count: 0 }, { count: 101 }, { count: 1.5 }, { count: '5' }]) {
      assertRefused(await owner.post('/api/agents/tokens', body), 400, 'VALIDATION_ERROR')
    }
  })

  await t.test('the same sign-in and verification are needed as for a single token', async () => {
    assertRefused(await post(service, '/api/agents/tokens', { count: 2 }), 401, 'UNAUTHENTICATED')
    const late = await signIn(service, owner.ownerId, Date.now() - 12 * 3_600_000)
    assertRefused(
      await late.post('/api/agents/tokens', { count: 2 }),
      403,
      'RECENT_SIGN_IN_REQUIRED',
    )
    const { db, pepper } = service.operator
    const { naming } = service.settings
    const { id } = await addOwner(
      { db, naming, pepper, now: Date.now },
      { username: 'grace', displayName: 'G' },
    )
    const unverified = await signIn(service, id)
    assertRefused(
      await unverified.post('/api/agents/tokens', { count: 2 }),
      403,
      'IDENTITY_REQUIRED',
    )
  })
})
