import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Assurance, type Card, type GradeAnswer, recomputeGrade } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { ask } from '../../../../test/support/ask.ts'
import { giveProfile } from '../../../../test/support/profile.ts'
import { claimAgent, startTestService, type TestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { unverifyOwner } from '../../src/domain/verify-owner.ts'

async function gradeAt(service: TestService, did: string): Promise<GradeAnswer> {
  const answer = await ask(service, `/api/agents/${did}/grade`)
  assert.equal(answer.status, 200, answer.text)
  return jsonOf<GradeAnswer>(answer)
}

/** The whole table: who stands behind it, where it can be reached, the letter. */
const CELLS: readonly [Assurance | null, 1 | 2 | null, string][] = [
  ['high', 2, 'A'],
  ['substantial', 2, 'A'],
  ['low', 2, 'B'],
  [null, 2, 'C'],
  ['high', 1, 'B'],
  ['substantial', 1, 'B'],
  ['low', 1, 'C'],
  [null, 1, 'D'],
  ['high', null, 'C'],
  ['substantial', null, 'C'],
  ['low', null, 'D'],
  [null, null, 'E'],
]

for (const [assurance, tier, letter] of CELLS) {
  test(`identity ${assurance ?? 'none'} and channel ${tier ?? 'none'} make ${letter}, which anyone recomputes`, async (t) => {
    const service = await startTestService(t)
    const owner = await service.operator.addVerifiedOwner('ada', assurance ?? 'low')
    const did = await claimAgent(service, owner)
    const kind = tier === 2 ? 'domain' : 'bluesky'
    const channels = tier === null ? [] : [{ kind, handleOrDomain: 'ada.example', tier }]
    const { db } = service.operator
    if (assurance === null) await unverifyOwner({ db, now: Date.now }, owner, 'in-person')
    await giveProfile(service, did, { displayName: 'Agent', channels })

    const answer = await gradeAt(service, did)

    assert.equal(answer.grade, letter)
    assert.equal(answer.tier, tier)
    assert.equal(answer.gradeIsFallback, tier === 1)
    assert.equal(answer.evidence.verification?.assurance ?? null, assurance)
    assert.equal(answer.evidence.channel?.kind ?? null, tier === null ? null : kind)
    assert.equal(answer.next === null, letter === 'A')
    const again = recomputeGrade(answer, Date.now())
    assert.deepEqual([again.grade, again.points, again.next], [letter, answer.points, answer.next])
    const card = jsonOf<Card>(await ask(service, `/api/agents/${did}/card`))
    assert.deepEqual([card.grade, card.tier, card.gradeIsFallback], [letter, tier, tier === 1])
  })
}

for (const status of ['suspended', 'revoked'] as const) {
  test(`a ${status} agent is an E, with what is known and no next step`, async (t) => {
    const service = await startTestService(t)
    const did = await claimAgent(service, await service.operator.addVerifiedOwner('ada', 'high'))
    await setStatus(service, did, status)
    const answer = await gradeAt(service, did)
    assert.deepEqual([answer.status, answer.grade, answer.next], [status, 'E', null])
    assert.equal(answer.evidence.verification?.label, 'In person')
    assert.equal(recomputeGrade(answer, Date.now()).grade, 'E')
  })
}

test('an answer is worth less once what it stands on has ended', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner('ada', 'high'))
  const freshUntil = Date.now() + 3_600_000
  const channel = { kind: 'domain', handleOrDomain: 'ada.example', tier: 2, freshUntil } as const
  await giveProfile(service, did, { channels: [channel] })
  const answer = await gradeAt(service, did)
  assert.equal(answer.grade, 'A')
  assert.equal(recomputeGrade(answer, freshUntil - 1).grade, 'A')
  assert.equal(recomputeGrade(answer, freshUntil).grade, 'C')
})

test('nobody has no grade', async (t) => {
  const service = await startTestService(t)
  assertRefused(await ask(service, `/api/agents/${'1'.repeat(24)}/grade`), 404, 'NOT_FOUND')
  assertRefused(await ask(service, '/api/agents/nobody/grade'), 400, 'VALIDATION_ERROR')
})
