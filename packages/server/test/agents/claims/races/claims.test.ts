import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Answer, assertRefused, jsonOf } from '../../../../../../test/support/answer.ts'
import { newKey, type TestKey } from '../../../../../../test/support/key.ts'
import { ParallelClient } from '../../../../../../test/support/parallel-client.ts'
import {
  type ClaimBody,
  claimBody,
  startTestService,
  type TestService,
} from '../../../../../../test/support/service.ts'
import { countRows } from '../../../../../../test/support/table-counts.ts'

const RACERS = 25

interface Start {
  readonly service: TestService
  readonly owner: number
  readonly crowd: ParallelClient
  readonly keys: readonly TestKey[]
}

async function start(t: TestContext): Promise<Start> {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  const keys = Array.from({ length: RACERS }, newKey)
  return { service, owner, crowd: new ParallelClient(service, t), keys }
}

/** Asserts that one claim succeeded and all others failed with TOKEN_EXPIRED. Returns the DID of the one. */
function winnerOf(answers: readonly Answer[]): string {
  const [winner, ...more] = answers.filter(({ status }) => status === 200)
  assert.ok(winner !== undefined && more.length === 0, `${more.length + 1} claims went through`)
  for (const answer of answers) {
    if (answer !== winner) assertRefused(answer, 410, 'TOKEN_EXPIRED', /used/)
  }
  return jsonOf(winner).svcDid as string
}

/** Rounds of 25 claims with one token each: one agent, one used token and one event a round, and each DID is live. */
async function race(
  { service, owner, crowd }: Start,
  rounds: number,
  claims: (token: string, round: number) => ClaimBody[],
): Promise<void> {
  const dids = new Set<string>()
  for (let round = 0; round < rounds; round++) {
    const bodies = claims(await service.operator.issueToken(owner), round)
    assert.equal(bodies.length, RACERS)
    const did = winnerOf(await crowd.postAll('/api/v1/claim', bodies))
    const [lookup] = await crowd.getAll([`/api/v1/agent/${did}`])
    assert.equal(jsonOf(lookup as Answer).verified, true)
    dids.add(did)
  }
  assert.equal(dids.size, rounds)
  assert.deepEqual(await countRows(service), {
    agents: rounds,
    usedTokens: rounds,
    liveTokens: 0,
    claimedEvents: rounds,
  })
}

test('of 25 concurrent claims with one token and different keys, one gets a DID: 100 times', async (t) => {
  const all = await start(t)
  await race(all, 100, (token, round) => all.keys.map((key) => claimBody(token, key, `${round}`)))
})

test('of 25 concurrent claims with one token, one key and 25 labels, one gets a DID: 50 times', async (t) => {
  const all = await start(t)
  const key = newKey()
  await race(all, 50, (token, round) =>
    all.keys.map((_key, i) => claimBody(token, key, `${round}.${i}`)),
  )
})

test('of 25 copies of one claim sent at once, one gets a DID: 50 times', async (t) => {
  const all = await start(t)
  await race(all, 50, (token, round) =>
    Array(RACERS).fill(claimBody(token, all.keys[round % RACERS], `${round}`)),
  )
})

test('a rejected claim does not affect the claims committed in the same transaction', async (t) => {
  const { service, crowd, keys } = await start(t)
  const owners: number[] = []
  for (const _ of keys) owners.push(await service.operator.addVerifiedOwner())
  for (let round = 0; round < 10; round++) {
    const bodies: ClaimBody[] = []
    for (const [i, key] of keys.entries()) {
      const token = await service.operator.issueToken(owners[i] as number)
      // From the second round on, the pair of every second claim is taken.
      bodies.push(claimBody(token, key, i % 2 === 0 ? `${round}` : 'main'))
    }
    const answers = await crowd.postAll('/api/v1/claim', bodies)
    for (const [i, answer] of answers.entries()) {
      if (i % 2 === 0 || round === 0) assert.equal(answer.status, 200, answer.text)
      else assertRefused(answer, 409, 'KEY_ALREADY_CLAIMED')
    }
    const dids = answers.filter(({ status }) => status === 200).map((each) => jsonOf(each).svcDid)
    for (const lookup of await crowd.getAll(dids.map((did) => `/api/v1/agent/${did}`))) {
      assert.equal(jsonOf(lookup).verified, true)
    }
  }
})
