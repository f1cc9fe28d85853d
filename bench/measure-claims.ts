import { strictEqual } from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type HttpRequest, type HttpResponse, sendRequest } from './http-exchange.ts'
import { firstLines } from './lines.ts'
import { runScript } from './load.ts'
import type { ClaimTask } from './load-claims.ts'
import type { Options } from './options.ts'
import { claimRequest } from './owner-client.ts'
import type { ServerProcess } from './process.ts'
import { type Measurement, measureRounds, type Target, warmUpSeconds } from './rounds.ts'
import { type ClaimScenario, SCENARIOS } from './scenarios.ts'
import type { Seed } from './seed.ts'
import { type ClaimSeed, prepareClaims } from './seed-claims.ts'
import type { SendResult } from './send-requests.ts'
import {
  type Bench,
  type System,
  startBare,
  startBefore,
  startCountersign,
  startNaive,
} from './systems.ts'

/** Prepared claims per second of load. A faster service ends its round early. */
const PREPARED_PER_SECOND = 16_000
const LOAD_SCRIPT = import.meta.resolve('./load-claims.ts')
/** Claims used to check that claiming works, before the load. */
const SAMPLE_SIZE = 2

/** The known keys belong to other owners than the tokens, which the default setting refuses. */
export async function measureClaims(
  bench: Bench,
  options: Options,
  seed: Seed,
): Promise<Measurement[]> {
  const measurements: Measurement[] = []
  for (const name of ['claim', 'claim-known'] as const) {
    if (!options.parts.has(name)) continue
    bench.say(SCENARIOS[name].title)
    measurements.push(await measureOne(bench, options, seed, { name, ...SCENARIOS[name] }))
  }
  return measurements
}

async function measureOne(
  bench: Bench,
  options: Options,
  seed: Seed,
  scenario: ClaimScenario & { readonly name: string },
): Promise<Measurement> {
  const dir = mkdtempSync(join(bench.dir, 'claims-'))
  const seconds = warmUpSeconds(options) + options.rounds * options.seconds
  const count = SAMPLE_SIZE + Math.ceil(seconds * PREPARED_PER_SECOND)
  const claims = await prepareClaims(seed, dir, count, scenario.keys)
  const first = firstLines(claims.file, SAMPLE_SIZE)
  const ready: HttpRequest = { method: 'GET', path: '/readyz' }
  // Each system uses every claim once, in the same order, on its own copy of the data.
  const keyReuse = scenario.keys === 'known' ? 'any' : 'owner'
  const settings = { KEY_REUSE: keyReuse }
  const countersign = await startCountersign(bench, claims, [ready], settings)
  const before = await startBefore(bench, claims, [ready], settings)
  const naive = await startNaive(bench, claims.database, [agentRequest(seed)])
  const sample = await checkClaims(countersign.port, first)
  await checkClaims(naive.port, first)
  if (before) await checkClaims(before.port, first)
  const bare = await startBare(bench, sample, ready, 'claim', join(dir, 'bare.db'))
  const targets = [
    await targetOf(bench, options, claims, 'ceiling', bare),
    await targetOf(bench, options, claims, 'countersign', countersign),
    await targetOf(bench, options, claims, 'naive', naive),
  ]
  if (before) targets.push(await targetOf(bench, options, claims, 'before', before))
  const measurement = await measureRounds(bench, scenario, targets, options.rounds)
  await countersign.stop()
  await before?.stop()
  await naive.stop()
  await bare.stop()
  rmSync(dir, { recursive: true, force: true })
  return measurement
}

async function targetOf(
  { scope, machine }: Bench,
  options: Options,
  claims: ClaimSeed,
  system: System,
  { pid, port }: ServerProcess,
): Promise<Target> {
  let from = SAMPLE_SIZE
  const load = async (lasting: number): Promise<SendResult> => {
    const task: ClaimTask = {
      port,
      file: claims.file,
      count: claims.count,
      from,
      max: Math.ceil(lasting * PREPARED_PER_SECOND),
      connections: options.claimConnections,
      seconds: lasting,
    }
    const pumped = (await runScript(scope, machine, task, LOAD_SCRIPT, task)) as SendResult
    from += pumped.requests
    if (pumped.refused === 0) return pumped
    throw new Error(`${system} refused ${pumped.refused} claims, first:\n${pumped.firstRefusal}`)
  }
  await load(warmUpSeconds(options))
  return { system, pids: [pid], load: () => load(options.seconds) }
}

/** Checks that a claim succeeds only once, and that the new agent can be looked up. @returns a response to one that succeeds */
async function checkClaims(port: number, bodies: readonly string[]): Promise<HttpResponse> {
  let claimed: HttpResponse | null = null
  for (const body of bodies) {
    const claim = claimRequest(body)
    claimed = await sendRequest(port, claim)
    strictEqual(claimed.status, 200, `${claimed.body}`)
    const { success, svcDid } = JSON.parse(`${claimed.body}`)
    strictEqual(success, true)
    const lookup = await sendRequest(port, { method: 'GET', path: `/api/v1/agent/${svcDid}` })
    strictEqual(lookup.status, 200, `${lookup.body}`)
    strictEqual((await sendRequest(port, claim)).status, 410)
  }
  return claimed as HttpResponse
}

function agentRequest(seed: Seed): HttpRequest {
  const [tail] = firstLines(seed.hotTail, 1)
  return { method: 'GET', path: `/api/v1/agent/svc:agent:${tail}` }
}
