import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { readSettings } from '../../packages/server/src/base/config.ts'
import { prepareClaims } from '../support/many-claims.ts'
import {
  openOperator,
  type ServiceProcess,
  startServiceProcess,
  testEnv,
} from '../support/service.ts'
import { assertInvariants, countReclaimed, findLostClaims } from './support/acknowledged-claims.ts'
import { claimAll, type Tally } from './support/claim-load.ts'
import { report } from './support/report.ts'
import { formatPercentiles } from './support/times.ts'

/** A claim token expires after ten minutes, so each round creates its own. */
const ROUNDS = 10
const CLAIMS_A_ROUND = 1000
const KILLS_A_ROUND = 10
/** Acknowledged claims between two kills, chosen so that the last service of a round still has work to do. */
const BETWEEN = 95

test('kill -9 loses no acknowledged claim and creates no agent twice, a hundred times in 10,000 claims', async (t) => {
  const env = await testEnv(t)
  const settings = readSettings(env)
  const operator = await openOperator(settings)
  t.after(() => operator.close())

  const killer = new Killer(t, env)
  const tallies: Tally[] = []
  await killer.start()
  for (let round = 1; round <= ROUNDS; round++) {
    const claims = await prepareClaims(operator, CLAIMS_A_ROUND, `round-${round}`)
    const load = claimAll(() => `http://localhost:${env.PORT}`, claims, {
      inFlight: 16,
      againAfter: 250,
      pace: 50,
      onAcknowledged: (count) => killer.onAcknowledged(count),
    })
    for (let kill = 1; kill <= KILLS_A_ROUND; kill++) {
      await Promise.race([killer.killAt(kill * BETWEEN), load])
      await killer.start()
    }
    tallies.push(await load)
  }
  await killer.kill()

  // `serve` refuses a damaged file, so each start has also checked it.
  const fresh = await killer.start()
  const acknowledged = new Map(tallies.flatMap((tally) => [...tally.acknowledged]))
  const unheard = tallies.reduce((sum, { doneUnheard }) => sum + doneUnheard.size, 0)
  const lost = await findLostClaims(fresh, { acknowledged })
  const again = await countReclaimed(fresh, { acknowledged })
  const found = await assertInvariants(settings)
  const silences = tallies.reduce((sum, { failures }) => sum + (failures.get('no answer') ?? 0), 0)
  report(t, {
    killed: `${killer.kills} times`,
    acknowledged: acknowledged.size,
    'done, but the answer was lost': unheard,
    'sent to nobody, or left without an answer, and sent again': `${silences} times`,
    found: `${acknowledged.size - lost.length} of the acknowledged, ${found.agents} agents in all, ${found.events} events without a gap`,
    'tokens that were good twice': again,
    'from start to ready': formatPercentiles(killer.starts),
    'from claim to answer': formatPercentiles(tallies.flatMap(({ times }) => times)),
  })
  for (const { failures } of tallies) assert.deepEqual([...failures.keys()], ['no answer'])
  assert.equal(killer.kills, ROUNDS * KILLS_A_ROUND + 1)
  assert.equal(acknowledged.size + unheard, ROUNDS * CLAIMS_A_ROUND)
  assert.deepEqual(lost, [])
  assert.equal(again, 0)
  assert.equal(found.agents, ROUNDS * CLAIMS_A_ROUND)
})

/** Starts services one after another, and kills each as soon as it has acknowledged this many claims. */
class Killer {
  kills = 0
  /** Milliseconds from start to ready. */
  readonly starts: number[] = []
  readonly #t: TestContext
  readonly #env: Record<string, string>
  #service: ServiceProcess | null = null
  #waiting: { readonly count: number; readonly reached: () => void } | null = null

  constructor(t: TestContext, env: Record<string, string>) {
    this.#t = t
    this.#env = env
  }

  async start(): Promise<ServiceProcess> {
    const began = performance.now()
    this.#service = await startServiceProcess(this.#t, this.#env)
    this.starts.push(performance.now() - began)
    return this.#service
  }

  async kill(): Promise<void> {
    this.kills += 1
    await this.#service?.stop('SIGKILL')
  }

  /** Kills the running service at the acknowledgement that reaches this number. */
  killAt(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting = { count, reached: () => resolve(this.kill()) }
    })
  }

  onAcknowledged(count: number): void {
    if (this.#waiting === null || count < this.#waiting.count) return
    this.#waiting.reached()
    this.#waiting = null
  }
}
