import { setTimeout as sleep } from 'node:timers/promises'
import type { HttpRequest } from './http-exchange.ts'
import { loadServer } from './load.ts'
import type { Options } from './options.ts'
import { residentBytes } from './process.ts'
import { loadOf, type RequestSamples, requestSamplesOf, requestsFor } from './request-samples.ts'
import { median } from './rounds.ts'
import { SCENARIOS } from './scenarios.ts'
import { prepareSeed } from './seed.ts'
import { type Bench, type Service, startCountersign } from './systems.ts'

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

export interface Footprint {
  readonly startUp: StartUp
  readonly memory: Memory
  /** The same with a single agent: the process's own memory. */
  readonly memoryOfOneAgent: Memory
  /** The difference per agent; null if there are too few agents to tell it from noise. */
  readonly bytesPerAgent: Memory
  readonly aims: readonly { readonly text: string; readonly met: boolean }[]
}

/** The aims are for a million agents and easier to reach with fewer. */
const AIM_AGENTS = 1_000_000
const READY_MS = 5000
const FIRST_LOOKUP_MS = 1000
const BYTES_PER_AGENT = 250

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
  const readyMs: number[] = []
  const firstLookupMs: number[] = []
  let memory: Memory = { atRest: null, afterLoad: null }
  for (let i = 0; i < options.rounds; i++) {
    await bench.waitBudget.waitUntilIdle()
    const service = await start(bench, requestSamples)
    readyMs.push(service.firstAnswers[0] as number)
    firstLookupMs.push(service.firstAnswers[1] as number)
    if (i === options.rounds - 1)
      memory = await measureMemory(bench, options, requestSamples, service)
    await service.stop()
  }
  const memoryOfOneAgent = await measureOneAgent(bench, options)
  const startUp = {
    starts: options.rounds,
    readyMs: median(readyMs),
    firstLookupMs: median(firstLookupMs),
  }
  const bytesPerAgent = perAgent(memory, memoryOfOneAgent, options.agents)
  const aims = aimsOf(startUp, bytesPerAgent, options.agents)
  return { startUp, memory, memoryOfOneAgent, bytesPerAgent, aims }
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
  const seed = await prepareSeed(bench.scope, 1, options)
  const requestSamples = requestSamplesOf(seed)
  const service = await start(bench, requestSamples)
  const memory = await measureMemory(bench, options, requestSamples, service)
  await service.stop()
  return memory
}

function start(bench: Bench, requestSamples: RequestSamples): Promise<Service> {
  const lookup = requestsFor(SCENARIOS.lookup, requestSamples)[0]
  return startCountersign(bench, requestSamples.seed, [READY, lookup])
}

async function measureMemory(
  { scope, machine }: Bench,
  { connections, seconds }: Options,
  requestSamples: RequestSamples,
  { pid, port }: Service,
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
