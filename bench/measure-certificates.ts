import { checkSameBytes } from './compare-services.ts'
import { HOST, type HttpRequest, sendRequest } from './http-exchange.ts'
import { linesOf } from './lines.ts'
import { loadServer } from './load.ts'
import type { Options } from './options.ts'
import type { ServerProcess } from './process.ts'
import { type Measurement, measureRounds, type Target } from './rounds.ts'
import { type IssueScenario, SCENARIOS, type ScenarioName } from './scenarios.ts'
import type { Seed } from './seed.ts'
import { sendRequests } from './send-requests.ts'
import { type Bench, type System, startBare, startCountersign } from './systems.ts'

const READY: HttpRequest = { method: 'GET', path: '/readyz' }

/** Measures how many certificates the service issues, beside a bare server that makes one signature for each response. */
export async function measureCertificates(
  bench: Bench,
  options: Options,
  seed: Seed,
): Promise<Measurement[]> {
  const names = (Object.keys(SCENARIOS) as ScenarioName[]).filter(
    (name) => options.parts.has(name) && SCENARIOS[name].kind === 'issue',
  )
  if (names.length === 0) return []
  const countersign = await startCountersign(bench, seed, [READY])
  const measurements: Measurement[] = []
  for (const name of names) {
    bench.say(SCENARIOS[name].title)
    const scenario = { name, ...(SCENARIOS[name] as IssueScenario) }
    measurements.push(await measureOne(bench, options, seed, scenario, countersign))
  }
  await countersign.stop()
  return measurements
}

async function measureOne(
  bench: Bench,
  options: Options,
  seed: Seed,
  scenario: IssueScenario & { readonly name: string },
  countersign: ServerProcess,
): Promise<Measurement> {
  const asks = linesOf(seed.tails).map(
    (tail): HttpRequest => ({ method: 'GET', path: scenario.before + tail + scenario.after }),
  )
  const [first] = asks as [HttpRequest]
  // The first certificate of an agent gets an entry in a status list, which is a write. Later ones do not.
  await requestEach(countersign.port, asks)
  const sample = await sendRequest(countersign.port, first)
  const bare = await startBare(bench, sample, first, 'sign')
  await checkSameBytes(bare.port, first, sample)
  const { before, after } = scenario
  const { connections, seconds } = options
  const targetOf = (system: System, { pid, port }: ServerProcess): Target => ({
    system,
    pids: [pid],
    load: () =>
      loadServer(bench.scope, bench.machine, {
        port,
        method: 'GET',
        before,
        after,
        file: seed.tails,
        headers: {},
        connections,
        seconds,
      }),
  })
  const targets = [targetOf('ceiling', bare), targetOf('countersign', countersign)]
  for (const target of targets) await target.load()
  const measurement = await measureRounds(bench, scenario, targets, options.rounds)
  await bare.stop()
  return measurement
}

async function requestEach(port: number, asks: readonly HttpRequest[]): Promise<void> {
  let at = 0
  const next = () => {
    const ask = asks[at++]
    return ask === undefined
      ? null
      : Buffer.from(`GET ${ask.path} HTTP/1.1\r\nHost: ${HOST}:${port}\r\n\r\n`)
  }
  const { firstRefusal } = await sendRequests({ port, connections: 64, seconds: 600, next })
  if (firstRefusal !== null) throw new Error(`refused:\n${firstRefusal}`)
}
