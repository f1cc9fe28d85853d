import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { runScript } from './load.ts'
import type { Transacted, TransactionTask } from './load-transactions.ts'
import type { Options } from './options.ts'
import { QUESTIONS } from './questions.ts'
import { type Measurement, measureRounds, type Target } from './rounds.ts'
import type { Seed } from './seed.ts'
import { prepareTokens } from './seed-claims.ts'
import type { Bench } from './systems.ts'

/** How many tokens are prepared for each second: past that rate a round ends before its time. */
const PREPARED_PER_SECOND = 40_000
const LOAD_SCRIPT = import.meta.resolve('./load-transactions.ts')

/** Measures the transactions of claims by themselves, in a process on the core that servers have otherwise. */
export async function measureTransactions(
  bench: Bench,
  options: Options,
  seed: Seed,
): Promise<Measurement[]> {
  if (!options.parts.has('claim-transaction')) return []
  const question = { name: 'claim-transaction', ...QUESTIONS['claim-transaction'] }
  bench.say(question.title)
  const { rounds, seconds, claimConnections: inFlight } = options
  const most = (seconds + 1) * PREPARED_PER_SECOND
  const dir = mkdtempSync(join(bench.dir, 'tokens-'))
  const tokens = prepareTokens(seed, dir, rounds * most)
  const copy = await bench.store.copy(tokens)
  let from = 0
  const target: Target = {
    system: 'countersign',
    pids: [],
    async load() {
      const { place } = copy
      const task: TransactionTask = { place, file: tokens.file, from, most, inFlight, seconds }
      const { scope, machine } = bench
      const result = await runScript(scope, machine, task, LOAD_SCRIPT, task, 'server')
      from += (result as Transacted).used
      return result as Transacted
    },
  }
  const measurement = await measureRounds(bench, question, [target], rounds)
  await copy.discard()
  rmSync(dir, { recursive: true, force: true })
  return [measurement]
}
