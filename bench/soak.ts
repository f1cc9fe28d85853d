import { setTimeout as sleep } from 'node:timers/promises'
import { type HttpRequest, sendRequest } from './http-exchange.ts'
import { signIn } from './owner-client.ts'
import { freePort, residentBytes } from './process.ts'
import type { RequestSamples } from './request-samples.ts'
import { AGENTS_PER_OWNER } from './seed.ts'
import { type RequestStats, type SoakKind, SoakLoad } from './soak-load.ts'
import { type Slope, slopeOf } from './statistics.ts'
import { type Bench, startNode } from './systems.ts'

/** One sample of the server's state. */
export interface SoakSample {
  /** Seconds since the load began. */
  readonly seconds: number
  /** In bytes; null if unknown. */
  readonly resident: number | null
  readonly heap: number | null
  /** The 99th percentile of the event loop delay since the last sample, in milliseconds. */
  readonly delay: number | null
}

/** The results of a soak. */
export interface SoakResult {
  readonly seconds: number
  /** The time at the start that the slopes exclude. */
  readonly warmUpSeconds: number
  readonly samples: readonly SoakSample[]
  /** Bytes per hour. */
  readonly residentSlope: Slope | null
  readonly heapSlope: Slope | null
  readonly asked: Readonly<Record<SoakKind, RequestStats>>
  /** Agents claimed during the soak, which memory has to hold. */
  readonly claims: number
  /** Requests that were skipped because too many were in flight. */
  readonly leftOut: number
  readonly errors: number
  readonly firstError: string | null
}

const READY: HttpRequest = { method: 'GET', path: '/readyz' }
const OWNERS = 16
const SAMPLE_SECONDS = 5
const MAX_WARM_UP_SECONDS = 300

/** Loads one process steadily and samples its memory. */
export async function soak(
  bench: Bench,
  seconds: number,
  requestSamples: RequestSamples,
): Promise<SoakResult> {
  const copy = await bench.store.copy(requestSamples.seed)
  const metricsPort = await freePort()
  const settings = { METRICS_PORT: String(metricsPort) }
  const server = await startNode(bench, copy, [READY], { settings, core: null })
  const owners = Math.min(OWNERS, Math.ceil(requestSamples.seed.agents / AGENTS_PER_OWNER))
  const signedIn = []
  for (let owner = 1; owner <= owners; owner++) signedIn.push(await signIn(copy.place, owner))
  const load = new SoakLoad(server.port, requestSamples, signedIn)
  bench.say(`soak for ${seconds} s`)
  const samples: SoakSample[] = []
  const started = performance.now()
  const elapsed = () => (performance.now() - started) / 1000
  load.start()
  for (let at = 0; at < seconds; ) {
    at = Math.min(seconds, at + Math.min(SAMPLE_SECONDS, seconds / 10))
    await sleep(Math.max(0, (at - elapsed()) * 1000))
    samples.push({ seconds: elapsed(), ...(await takeSample(server.pid, metricsPort)) })
  }
  await load.stop()
  const soaked = { ...summary(load), ...slopes(samples, seconds), seconds: elapsed(), samples }
  await server.stop()
  await copy.discard()
  return soaked
}

async function takeSample(pid: number, metricsPort: number): Promise<Omit<SoakSample, 'seconds'>> {
  const { body } = await sendRequest(metricsPort, { method: 'GET', path: '/metrics' })
  const value = (name: string) => {
    const found = new RegExp(`^${name} (\\S+)$`, 'm').exec(`${body}`)?.[1]
    return found === undefined ? null : Number(found)
  }
  const delay = value('nodejs_eventloop_lag_p99_seconds')
  return {
    resident: residentBytes(pid),
    heap: value('nodejs_heap_size_used_bytes'),
    delay: delay === null ? null : delay * 1000,
  }
}

function summary(load: SoakLoad) {
  const { asked, claims, leftOut, firstError } = load
  const errors = Object.values(asked).reduce((sum, each) => sum + each.errors, 0)
  return { asked, claims, leftOut, errors, firstError }
}

function slopes(samples: readonly SoakSample[], seconds: number) {
  const warmUpSeconds = Math.min(MAX_WARM_UP_SECONDS, seconds / 5)
  const warm = samples.filter((sample) => sample.seconds > warmUpSeconds)
  const slopeIn = (of: 'resident' | 'heap') =>
    slopeOf(warm.flatMap((s) => (s[of] === null ? [] : [{ x: s.seconds / 3600, y: s[of] }])))
  return { warmUpSeconds, residentSlope: slopeIn('resident'), heapSlope: slopeIn('heap') }
}
