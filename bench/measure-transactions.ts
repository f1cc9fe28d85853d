import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { runScript } from './load.ts'
import type { TransactionResult, TransactionTask } from './load-transactions.ts'
import type { Options } from './options.ts'
import { type Measurement, measureRounds, type Target } from './rounds.ts'
import { SCENARIOS } from './scenarios.ts'
import type { Seed } from './seed.ts'
import { prepareTokens } from './seed-claims.ts'
import type { Bench } from './systems.ts'

/** Prepared tokens per second. A faster database ends its round early. */
const PREPARED_PER_SECOND = 40_000
const LOAD_SCRIPT = import.meta.resolve('./load-transactions.ts')

/** Measures only the database transactions of claims, in a process on the server's core. */
export async function measureTransactions(
  bench: Bench,
  options: Options,
  seed: Seed,
): Promise<Measurement[]> {
  if (!options.parts.has('claim-transaction')) return []
  const scenario = { name: 'claim-transaction', ...SCENARIOS['claim-transaction'] }
  bench.say(scenario.title)
  const { rounds, seconds, claimConnections: inFlight } = options
  const max = (seconds + 1) * PREPARED_PER_SECOND
  const dir = mkdtempSync(join(bench.dir, 'tokens-'))
  const tokens = await prepareTokens(seed, dir, rounds * max)
  const copy = await bench.store.copy(tokens)
  let from = 0
  const target: Target = {
    system: 'countersign',
    pids: [],
    async load() {
      const { place } = copy
      const task: TransactionTask = { place, file: tokens.file, from, max, inFlight, seconds }
      const { scope, machine } = bench
      const result = await runScript(scope, machine, task, LOAD_SCRIPT, task, 'server')
      from += (result as TransactionResult).used
      return result as TransactionResult
    },
  }
  const measurement = await measureRounds(bench, scenario, [target], rounds)
  await copy.discard()
  rmSync(dir, { recursive: true, force: true })
  return [measurement]
}
