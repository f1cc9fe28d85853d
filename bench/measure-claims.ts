import { strictEqual } from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Ask, ask } from './exchange.ts'
import { firstLines } from './lines.ts'
import { runScript } from './load.ts'
import type { ClaimTask } from './load-claims.ts'
import type { Options } from './options.ts'
import { claimAsk } from './owner-client.ts'
import type { ServerProcess } from './process.ts'
import type { Pumped } from './pump.ts'
import { type ClaimQuestion, QUESTIONS } from './questions.ts'
import { type Measurement, measureRounds, type Target, warmUpSeconds } from './rounds.ts'
import type { Seed } from './seed.ts'
import { type ClaimSeed, prepareClaims } from './seed-claims.ts'
import { type Bench, type System, startCountersign, startNaive } from './systems.ts'

/** How many claims are prepared for each second of load: past that rate a round ends before its time. */
const PREPARED_PER_SECOND = 16_000
const LOAD_SCRIPT = import.meta.resolve('./load-claims.ts')
/** Claims made to see that they can be, before the load. */
const CHECKED = 2

/** Measures claims, each of which is made once and waits for the disk. */
export async function measureClaims(
  bench: Bench,
  options: Options,
  seed: Seed,
): Promise<Measurement[]> {
  const measurements: Measurement[] = []
  for (const name of ['claim', 'claim-known'] as const) {
    if (!options.parts.has(name)) continue
    bench.say(QUESTIONS[name].title)
    measurements.push(await measureOne(bench, options, seed, { name, ...QUESTIONS[name] }))
  }
  return measurements
}

async function measureOne(
  bench: Bench,
  options: Options,
  seed: Seed,
  question: ClaimQuestion & { readonly name: string },
): Promise<Measurement> {
  const dir = mkdtempSync(join(bench.dir, 'claims-'))
  const seconds = warmUpSeconds(options) + options.rounds * options.seconds
  const count = CHECKED + Math.ceil(seconds * PREPARED_PER_SECOND)
  const claims = prepareClaims(seed, dir, count, question.keys)
  const first = firstLines(claims.file, CHECKED)
  const ready: Ask = { method: 'GET', path: '/readyz' }
  // Known keys belong to other owners than the tokens, which the default refuses.
  const keyReuse = question.keys === 'known' ? 'any' : 'owner'
  const countersign = await startCountersign(bench, claims, [ready], {
    KEY_REUSE: keyReuse,
  })
  const naive = await startNaive(bench, claims.database, [agentAsk(seed)])
  const targets = [
    await targetOf(bench, options, claims, first, 'countersign', countersign),
    await targetOf(bench, options, claims, first, 'naive', naive),
  ]
  const measurement = await measureRounds(bench, question, targets, options.rounds)
  await countersign.stop()
  await naive.stop()
  rmSync(dir, { recursive: true, force: true })
  return measurement
}

/** Each system uses every claim once, in the same order, on its own copy of the data. */
async function targetOf(
  { scope, machine }: Bench,
  options: Options,
  claims: ClaimSeed,
  first: readonly string[],
  system: System,
  { pid, port }: ServerProcess,
): Promise<Target> {
  await checkClaims(port, first)
  let from = CHECKED
  const load = async (lasting: number): Promise<Pumped> => {
    const task: ClaimTask = {
      port,
      file: claims.file,
      count: claims.count,
      from,
      most: Math.ceil(lasting * PREPARED_PER_SECOND),
      connections: options.claimConnections,
      seconds: lasting,
    }
    const pumped = (await runScript(scope, machine, task, LOAD_SCRIPT, task)) as Pumped
    from += pumped.requests
    if (pumped.refused === 0) return pumped
    throw new Error(`${system} refused ${pumped.refused} claims, first:\n${pumped.firstRefusal}`)
  }
  await load(warmUpSeconds(options))
  return { system, pids: [pid], load: () => load(options.seconds) }
}

/** A claim succeeds once; what it made can be looked up. */
async function checkClaims(port: number, bodies: readonly string[]): Promise<void> {
  for (const body of bodies) {
    const claim = claimAsk(body)
    const claimed = await ask(port, claim)
    strictEqual(claimed.status, 200, `${claimed.body}`)
    const { success, svcDid } = JSON.parse(`${claimed.body}`)
    strictEqual(success, true)
    const lookup = await ask(port, { method: 'GET', path: `/api/v1/agent/${svcDid}` })
    strictEqual(lookup.status, 200, `${lookup.body}`)
    strictEqual((await ask(port, claim)).status, 410)
  }
}

function agentAsk(seed: Seed): Ask {
  const [tail] = firstLines(seed.hotTail, 1)
  return { method: 'GET', path: `/api/v1/agent/svc:agent:${tail}` }
}
