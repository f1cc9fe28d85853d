import { checkSameAnswers, checkSameBytes } from './compare-services.ts'
import { HOST, type HttpRequest, type HttpResponse, sendRequest } from './http-exchange.ts'
import { loadServer } from './load.ts'
import type { Options } from './options.ts'
import type { ServerProcess } from './process.ts'
import {
  loadOf,
  type PublicScenario,
  type RequestSamples,
  requestsFor,
  verifyRequest,
} from './request-samples.ts'
import { type Measurement, measureRounds, type Target, warmUpSeconds } from './rounds.ts'
import { SCENARIOS, type ScenarioName } from './scenarios.ts'
import { sendRequests } from './send-requests.ts'
import {
  type Bench,
  type System,
  startBare,
  startBefore,
  startCountersign,
  startNaive,
} from './systems.ts'

/** Measures the public endpoints: lookups, cards, documents, verification. */
export async function measurePublic(
  bench: Bench,
  options: Options,
  requestSamples: RequestSamples,
): Promise<Measurement[]> {
  const names = publicNames(options)
  if (names.length === 0) return []
  const until = requestsFor(SCENARIOS.lookup, requestSamples)[0]
  const ready: HttpRequest = { method: 'GET', path: '/readyz' }
  const countersign = await startCountersign(bench, requestSamples.seed, [ready, until])
  const before = await startBefore(bench, requestSamples.seed, [ready, until])
  const naive = await startNaive(bench, requestSamples.seed.database, [until])
  const measurements: Measurement[] = []
  for (const name of names) {
    bench.say(SCENARIOS[name].title)
    const scenario = { name, ...SCENARIOS[name] }
    measurements.push(
      await measureOne(bench, options, requestSamples, scenario, { countersign, naive, before }),
    )
  }
  await countersign.stop()
  await before?.stop()
  await naive.stop()
  return measurements
}

interface Services {
  readonly countersign: ServerProcess
  readonly naive: ServerProcess
  readonly before: ServerProcess | null
}

type PublicName = {
  [N in ScenarioName]: (typeof SCENARIOS)[N] extends PublicScenario ? N : never
}[ScenarioName]

function publicNames({ parts }: Options): PublicName[] {
  const names = Object.keys(SCENARIOS) as ScenarioName[]
  return names.filter(
    (name): name is PublicName =>
      parts.has(name) && ['read', 'verify'].includes(SCENARIOS[name].kind),
  )
}

async function measureOne(
  bench: Bench,
  options: Options,
  requestSamples: RequestSamples,
  scenario: PublicScenario & { readonly name: string },
  { countersign, naive, before }: Services,
): Promise<Measurement> {
  const asks = requestsFor(scenario, requestSamples)
  const [sample, naiveSample] = await checkSameAnswers(
    countersign.port,
    naive.port,
    asks,
    refusalsOf(scenario, requestSamples),
  )
  const work = scenario.kind === 'verify' ? 'verify' : 'none'
  const bare = await startBare(bench, sample, asks[0], work)
  await checkSameBytes(bare.port, asks[0], sample)
  const targetOf = targetFactory(bench, options, requestSamples, scenario)
  const targets = [
    targetOf('ceiling', bare, sample),
    targetOf('countersign', countersign, sample),
    targetOf('naive', naive, naiveSample),
  ]
  const servers = [bare, countersign, naive]
  if (before) {
    targets.push(targetOf('before', before, await sendRequest(before.port, asks[0])))
    servers.push(before)
  }
  for (const { port } of servers) await warm(port, asks, warmUpSeconds(options))
  const measurement = await measureRounds(bench, scenario, targets, options.rounds)
  await bare.stop()
  return measurement
}

/** Requests that must be refused, to check that neither service skips validation. */
function refusalsOf(
  scenario: PublicScenario,
  requestSamples: RequestSamples,
): [HttpRequest, number][] {
  if (scenario.kind === 'verify') {
    const body = { ...JSON.parse(requestSamples.challenges[0]), challenge: 'another one' }
    return [[verifyRequest(JSON.stringify(body)), 401]]
  }
  const { before, after, headers } = scenario
  return [[{ method: 'GET', path: `${before}${'z'.repeat(24)}${after}`, headers }, 404]]
}

function targetFactory(
  { scope, machine }: Bench,
  { connections, seconds }: Options,
  requestSamples: RequestSamples,
  scenario: PublicScenario,
) {
  return (system: System, { pid, port }: ServerProcess, sample: HttpResponse): Target => ({
    system,
    pids: [pid],
    async load() {
      const load = loadOf(scenario, requestSamples, { port, connections, seconds })
      const loaded = await loadServer(scope, machine, load)
      const bytesEach = loaded.bytes / loaded.requests
      if (Math.abs(bytesEach / sample.bytes - 1) > 0.02) {
        const bytes = `${bytesEach.toFixed(1)} bytes instead of ${sample.bytes}`
        throw new Error(`${scenario.title}: ${system} answered ${bytes} under load`)
      }
      return loaded
    },
  })
}

async function warm(port: number, asks: readonly HttpRequest[], seconds: number): Promise<void> {
  const requests = asks.map((each) => bytesOf(port, each))
  let at = 0
  const next = () => requests[at++ % requests.length] as Buffer
  const { firstRefusal } = await sendRequests({ port, connections: 16, seconds, next })
  if (firstRefusal !== null) throw new Error(`refused while warming up:\n${firstRefusal}`)
}

function bytesOf(port: number, { method, path, headers, body = '' }: HttpRequest): Buffer {
  const length = body === '' ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }
  const fields = Object.entries({ Host: `${HOST}:${port}`, ...headers, ...length })
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${head}\r\n${body}`)
}
