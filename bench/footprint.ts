import { setTimeout as sleep } from 'node:timers/promises'
import type { Ask } from './exchange.ts'
import { loadServer } from './load.ts'
import { asksOf, loadOf, type Material, materialOf } from './material.ts'
import type { Options } from './options.ts'
import { residentBytes } from './process.ts'
import { QUESTIONS } from './questions.ts'
import { median } from './rounds.ts'
import { prepareSeed } from './seed.ts'
import { type Bench, type Service, startCountersign } from './systems.ts'

/** Milliseconds from the start of the process, medians. */
interface StartUp {
  readonly starts: number
  readonly readyMs: number
  readonly firstLookupMs: number
}

/** Resident memory in bytes; null where it cannot be told. */
interface Memory {
  /** A quiet second after it was ready. */
  readonly atRest: number | null
  /** A quiet second after lookups over all agents. */
  readonly afterLoad: number | null
}

export interface Footprint {
  readonly startUp: StartUp
  readonly memory: Memory
  /** The same with one agent: what the process takes by itself. */
  readonly memoryOfOneAgent: Memory
  /** The difference, for each agent; null where there are too few to tell it from noise. */
  readonly bytesPerAgent: Memory
  readonly aims: readonly { readonly text: string; readonly met: boolean }[]
}

/** The aims are for a million agents: with fewer it is no harder. */
const AIMED_AT_AGENTS = 1_000_000
const READY_MS = 5000
const FIRST_LOOKUP_MS = 1000
const BYTES_PER_AGENT = 250

/** Below this many agents their memory drowns in what the heap happens to hold. */
const ENOUGH_AGENTS = 50_000
const READY: Ask = { method: 'GET', path: '/readyz' }

/** Measures how long the service takes to start, and how much memory it takes. */
export async function measureFootprint(
  bench: Bench,
  options: Options,
  material: Material,
): Promise<Footprint> {
  bench.say('start-up and memory')
  const readyMs: number[] = []
  const firstLookupMs: number[] = []
  let memory: Memory = { atRest: null, afterLoad: null }
  for (let i = 0; i < options.rounds; i++) {
    await bench.patience.untilQuiet()
    const service = await start(bench, material)
    readyMs.push(service.firstAnswers[0] as number)
    firstLookupMs.push(service.firstAnswers[1] as number)
    if (i === options.rounds - 1) memory = await measureMemory(bench, options, material, service)
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
  const most = atRest === null || afterLoad === null ? null : Math.max(atRest, afterLoad)
  const text = `<= ${BYTES_PER_AGENT} bytes an agent`
  return [
    ...(agents <= AIMED_AT_AGENTS ? startUp : []),
    ...(most === null ? [] : [{ text, met: most <= BYTES_PER_AGENT }]),
  ]
}

async function measureOneAgent(bench: Bench, options: Options): Promise<Memory> {
  const seed = await prepareSeed(bench.scope, 1, options)
  const material = materialOf(seed)
  const service = await start(bench, material)
  const memory = await measureMemory(bench, options, material, service)
  await service.stop()
  return memory
}

function start(bench: Bench, material: Material): Promise<Service> {
  const lookup = asksOf(QUESTIONS.lookup, material)[0]
  return startCountersign(bench, material.seed, [READY, lookup])
}

async function measureMemory(
  { scope, machine }: Bench,
  { connections, seconds }: Options,
  material: Material,
  { pid, port }: Service,
): Promise<Memory> {
  await sleep(1000)
  const atRest = residentBytes(pid)
  await loadServer(
    scope,
    machine,
    loadOf(QUESTIONS.lookup, material, { port, connections, seconds }),
  )
  await sleep(1000)
  return { atRest, afterLoad: residentBytes(pid) }
}

function perAgent(all: Memory, one: Memory, agents: number): Memory {
  const each = (more: number | null, less: number | null) =>
    more === null || less === null || agents < ENOUGH_AGENTS ? null : (more - less) / (agents - 1)
  return {
    atRest: each(all.atRest, one.atRest),
    afterLoad: each(all.afterLoad, one.afterLoad),
  }
}
