import { setTimeout as sleep } from 'node:timers/promises'
import type { HttpRequest } from './http-exchange.ts'
import { loadServer } from './load.ts'
import type { Options } from './options.ts'
import { residentBytes } from './process.ts'
import { loadOf, type RequestSamples, requestSamplesOf, requestsFor } from './request-samples.ts'
import { median } from './rounds.ts'
import { SCENARIOS } from './scenarios.ts'
import { prepareSeed } from './seed.ts'
import { type Bench, keepStarting, type Service, startCountersign } from './systems.ts'

/** Medians, in milliseconds from the start of the process. */
interface StartUp {
  readonly starts: number
  readonly readyMs: number
  readonly firstLookupMs: number
}

/** Resident memory in bytes; null if it cannot be determined. */
interface Memory {
  /** One idle second after the service was ready. */
  readonly atRest: number | null
  /** One idle second after lookups of all agents. */
  readonly afterLoad: number | null
}

interface Measured {
  readonly startUp: StartUp
  readonly memory: Memory
}

export interface Footprint extends Measured {
  /** Of the service of the other checkout; null without one. */
  readonly before: Measured | null
  /** The same with a single agent: the process's own memory. */
  readonly memoryOfOneAgent: Memory
  /** The difference per agent; null if there are too few agents to tell it from noise. */
  readonly bytesPerAgent: Memory
  readonly aims: readonly { readonly text: string; readonly met: boolean }[]
}

/** The aims are for a million agents and easier to reach with fewer. */
const AIM_AGENTS = 1_000_000
const READY_MS = 3000
const FIRST_LOOKUP_MS = 1000
const BYTES_PER_AGENT = 200

/** With fewer agents, their memory is smaller than the variation of the heap. */
const MIN_AGENTS = 50_000
const READY: HttpRequest = { method: 'GET', path: '/readyz' }

/** Measures the start-up time and the memory of the service. */
export async function measureFootprint(
  bench: Bench,
  options: Options,
  requestSamples: RequestSamples,
): Promise<Footprint> {
  bench.say('start-up and memory')
  const lookup = requestsFor(SCENARIOS.lookup, requestSamples)[0]
  const { seed } = requestSamples
  // Restarts: the first start on a new seed fills the log and checks the whole file.
  const ofOne = await keepStarting(bench, seed)
  const ofBefore = seed.before === null ? [] : [await keepStarting(bench, seed, seed.before)]
  const starts = [ofOne, ...ofBefore]
  const samples = starts.map((): Sample[] => [])
  for (let i = 0; i < options.rounds; i++) {
    for (const [which, start] of starts.entries()) {
      await bench.waitBudget.waitUntilIdle()
      const service = await start.start([READY, lookup])
      const isLast = i === options.rounds - 1
      const memory = isLast ? await measureMemory(bench, options, requestSamples, service) : null
      samples[which]?.push({ firstAnswers: service.firstAnswers, memory })
      await service.stop()
    }
  }
  for (const each of starts) await each.discard()
  const [{ startUp, memory }, before = null] = samples.map(measuredOf) as [Measured, Measured?]
  const memoryOfOneAgent = await measureOneAgent(bench, options)
  const bytesPerAgent = perAgent(memory, memoryOfOneAgent, options.agents)
  const aims = aimsOf(startUp, bytesPerAgent, options.agents)
  return { startUp, memory, memoryOfOneAgent, bytesPerAgent, aims, before }
}

interface Sample {
  readonly firstAnswers: readonly number[]
  /** Measured once. */
  readonly memory: Memory | null
}

function measuredOf(samples: readonly Sample[]): Measured {
  const [readyMs, firstLookupMs] = [0, 1].map((at) =>
    median(samples.map(({ firstAnswers }) => firstAnswers[at] as number)),
  ) as [number, number]
  const memory = samples.findLast((each) => each.memory !== null)?.memory
  return {
    startUp: { starts: samples.length, readyMs, firstLookupMs },
    memory: memory ?? { atRest: null, afterLoad: null },
  }
}

function aimsOf(
  { readyMs, firstLookupMs }: StartUp,
  { atRest, afterLoad }: Memory,
  agents: number,
): Footprint['aims'] {
  const startUp = [
    { text: `ready <= ${READY_MS} ms`, met: readyMs <= READY_MS },
    { text: `first lookup <= ${FIRST_LOOKUP_MS} ms`, met: firstLookupMs <= FIRST_LOOKUP_MS },
  ]
  const max = atRest === null || afterLoad === null ? null : Math.max(atRest, afterLoad)
  const text = `<= ${BYTES_PER_AGENT} bytes an agent`
  return [
    ...(agents <= AIM_AGENTS ? startUp : []),
    ...(max === null ? [] : [{ text, met: max <= BYTES_PER_AGENT }]),
  ]
}

async function measureOneAgent(bench: Bench, options: Options): Promise<Memory> {
  const seed = await prepareSeed(bench.scope, 1, { ...options, before: null })
  const requestSamples = requestSamplesOf(seed)
  const lookup = requestsFor(SCENARIOS.lookup, requestSamples)[0]
  const service = await startCountersign(bench, seed, [READY, lookup])
  const memory = await measureMemory(bench, options, requestSamples, service)
  await service.stop()
  return memory
}

async function measureMemory(
  { scope, machine }: Bench,
  { connections, seconds }: Options,
  requestSamples: RequestSamples,
  { pid, port }: Pick<Service, 'pid' | 'port'>,
): Promise<Memory> {
  await sleep(1000)
  const atRest = residentBytes(pid)
  await loadServer(
    scope,
    machine,
    loadOf(SCENARIOS.lookup, requestSamples, { port, connections, seconds }),
  )
  await sleep(1000)
  return { atRest, afterLoad: residentBytes(pid) }
}

function perAgent(all: Memory, one: Memory, agents: number): Memory {
  const each = (more: number | null, less: number | null) =>
    more === null || less === null || agents < MIN_AGENTS ? null : (more - less) / (agents - 1)
  return {
    atRest: each(all.atRest, one.atRest),
    afterLoad: each(all.afterLoad, one.afterLoad),
  }
}
