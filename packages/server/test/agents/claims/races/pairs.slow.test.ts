import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Tail } from '@countersign/protocol'
import { type Answer, assertRefused, jsonOf } from '../../../../../../test/support/answer.ts'
import { newKey, type TestKey } from '../../../../../../test/support/key.ts'
import { ParallelClient } from '../../../../../../test/support/parallel-client.ts'
import {
  claimAgent,
  claimBody,
  startTestService,
  type TestService,
} from '../../../../../../test/support/service.ts'
import { countRows } from '../../../../../../test/support/table-counts.ts'
import { changeStatus } from '../../../../src/agents/manage/change-status.ts'

const RACERS = 25
const ROUNDS = 8
/** Turns of the event loop from before a claim arrives to after its response. The test tries the other write at each of them. */
const TURNS = 8

/** Waits for `count` turns of the event loop. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await nextTurn()
}

interface Start {
  readonly service: TestService
  readonly owners: readonly number[]
  readonly crowd: ParallelClient
}

async function start(t: TestContext, env: Record<string, string>): Promise<Start> {
  const service = await startTestService(t, env)
  const owners: number[] = []
  for (let i = 0; i < RACERS; i++) owners.push(await service.operator.addVerifiedOwner())
  return { service, owners, crowd: new ParallelClient(service, t) }
}

function claimAll(
  crowd: ParallelClient,
  tokens: readonly string[],
  key: TestKey,
  label: (i: number) => string,
) {
  return crowd.postAll(
    '/api/v1/claim',
    tokens.map((token, i) => claimBody(token, key, label(i))),
  )
}

const LABELS: Readonly<Record<string, (i: number) => string>> = {
  'one key and one label': () => 'main',
  'one key and 25 labels': (i) => `label ${i}`,
}

for (const [KEY_REUSE, what] of [
  ['any', 'one key and one label'],
  ['owner', 'one key and one label'],
  ['owner', 'one key and 25 labels'],
] as const) {
  test(`of 25 owners who claim ${what} at once, one gets a DID and burns a token (KEY_REUSE=${KEY_REUSE})`, async (t) => {
    const { service, owners, crowd } = await start(t, { KEY_REUSE })
    const label = LABELS[what] as (i: number) => string
    for (let round = 1; round <= ROUNDS; round++) {
      const tokens: string[] = []
      for (const owner of owners) tokens.push(await service.operator.issueToken(owner))
      const answers = await claimAll(crowd, tokens, newKey(), label)
      const losers = answers.filter(({ status }) => status !== 200)
      assert.equal(losers.length, RACERS - 1)
      for (const answer of losers) assertRefused(answer, 409, 'KEY_ALREADY_CLAIMED')
      const counts = await countRows(service)
      assert.deepEqual([counts.liveTokens, counts.agents], [RACERS - 1, (round - 1) * RACERS + 1])
      assert.deepEqual([counts.usedTokens, counts.claimedEvents], [counts.agents, counts.agents])

      const unburned = tokens.filter((_token, i) => answers[i]?.status !== 200)
      const claims = unburned.map((token) => claimBody(token, newKey(), 'main'))
      const second = await crowd.postAll('/api/v1/claim', claims)
      assert.deepEqual(
        second.map(({ status }) => status),
        Array(RACERS - 1).fill(200),
      )
      assert.equal((await countRows(service)).liveTokens, 0)
    }
  })
}

test('of 25 tokens that one owner is issued at once, one can be redeemed', async (t) => {
  const { service, owners, crowd } = await start(t, {})
  const owner = owners[0] as number
  for (let round = 1; round <= ROUNDS; round++) {
    const issue = () => service.operator.issueToken(owner)
    const tokens = await Promise.all(Array.from({ length: RACERS }, issue))
    assert.equal((await countRows(service)).liveTokens, 1)
    const answers = await claimAll(crowd, tokens, newKey(), (i) => `${round}.${i}`)
    const losers = answers.filter(({ status }) => status !== 200)
    assert.equal(losers.length, RACERS - 1)
    for (const answer of losers) assertRefused(answer, 410, 'TOKEN_EXPIRED', /newer/)
    assert.equal((await countRows(service)).agents, round)
  }
})

test('a token that is redeemed while it is replaced is used or superseded, never both', async (t) => {
  const { service, owners, crowd } = await start(t, {})
  const { issueToken } = service.operator
  const all = () => Promise.all(owners.map(issueToken))
  for (let round = 0; round < TURNS * 3; round++) {
    const claims = (await all()).map((token) => claimBody(token))
    const redeeming = crowd.postAll('/api/v1/claim', claims)
    await turns(round % TURNS)
    const next = (await all()).map((token) => claimBody(token))
    for (const answer of await redeeming) {
      if (answer.status !== 200) assertRefused(answer, 410, 'TOKEN_EXPIRED', /newer/)
    }
    for (const { status } of await crowd.postAll('/api/v1/claim', next)) {
      assert.equal(status, 200, 'the newest token is valid in any order')
    }
  }
  const both = await service.operator.db.read
    .selectFrom('claim_tokens')
    .select('hash')
    .where('used_at', 'is not', null)
    .where('superseded_at', 'is not', null)
    .execute()
  assert.equal(both.length, 0)
  const { agents, usedTokens } = await countRows(service)
  assert.equal(agents, usedTokens)
})

test('a pair that is claimed while it is revoked has one live certificate, before or after', async (t) => {
  const { service, owners, crowd } = await start(t, {})
  const owner = owners[0] as number
  const key = newKey()
  let did = await claimAgent(service, owner, key)
  const deps = { db: service.operator.db, now: Date.now }
  for (let round = 0; round < 40; round++) {
    const claim = claimBody(await service.operator.issueToken(owner), key)
    const tail = did.slice(-24) as Tail
    const claiming = crowd.postAll('/api/v1/claim', [claim])
    await turns(round % TURNS)
    await changeStatus(deps, { tail, to: 'revoked', reason: null, by: 'operator' })
    const [answer] = (await claiming) as [Answer]
    if (answer.status === 200) did = jsonOf(answer).svcDid as string
    else {
      assertRefused(answer, 409, 'KEY_ALREADY_CLAIMED')
      const [again] = await crowd.postAll('/api/v1/claim', [claim])
      did = jsonOf(again as Answer).svcDid as string
    }
    const live = await service.operator.db.read
      .selectFrom('agents')
      .select('tail')
      .where('status', '!=', 'revoked')
      .execute()
    assert.deepEqual(
      live.map(({ tail }) => tail),
      [did.slice(-24)],
    )
  }
})
