import type { LoadResult } from './load.ts'
import { cpuSeconds } from './process.ts'
import type { Aim } from './scenarios.ts'
import type { Bench, System } from './systems.ts'

/** A system under load, and a function that loads it once. */
export interface Target {
  readonly system: System
  /** Its process ids, if their CPU time is measured. */
  readonly pids: readonly number[]
  load(): Promise<Pick<LoadResult, 'requests' | 'seconds' | 'p50' | 'p99'>>
}

/** One system in one round. */
interface Sample {
  readonly perSecond: number
  /** In milliseconds. */
  readonly p50: number
  readonly p99: number
  /** The cores that the server used, as a fraction; null if unknown. */
  readonly busy: number | null
}

export type Round = Readonly<Partial<Record<System, Sample>>>

export interface Measurement {
  readonly name: string
  readonly title: string
  readonly rounds: readonly Round[]
  /** Medians of the rounds; null if the system was not measured. */
  readonly perSecond: Readonly<Record<System, number | null>>
  /** From the best round of each system, because other programs can only slow a server down. */
  readonly best: Readonly<Record<System, number | null>>
  /** Medians of the ratios within each round, in which the effect of other programs mostly cancels out. */
  readonly ratioToCeiling: number | null
  readonly ratioToNaive: number | null
  readonly ratioToOne: number | null
  readonly ratioToBefore: number | null
  /** The same for requests per second of CPU time, which excludes the time that other programs took. */
  readonly byCpu: {
    readonly ratioToCeiling: number | null
    readonly ratioToNaive: number | null
    readonly ratioToBefore: number | null
    /**
     * Times the number of processes: what several would reach if they had as many cores more. On two cores, the load takes a part
     * of what two processes need.
     */
    readonly ratioToOne: number | null
  }
  readonly aims: readonly (Aim & { readonly met: boolean })[]
}

/** What is measured. */
interface Measured {
  readonly name: string
  readonly title: string
  readonly aims: readonly Aim[]
  /** How many there are of countersign. */
  readonly processes?: number
}

/** A short warm-up before the rounds, so that all code is compiled. */
export function warmUpSeconds({ seconds }: { readonly seconds: number }): number {
  return Math.min(1, seconds / 5)
}

/** A server that used less than this share of its core was not the bottleneck. */
export const BUSY = 0.9

/** Whether other programs used a server's core, or it waited for the disk, as claims do. */
export function wasHeldUp(round: Round): boolean {
  const samples: readonly Sample[] = Object.values(round)
  return round.ceiling !== undefined && samples.some(({ busy }) => busy !== null && busy < BUSY)
}

/**
 * Measures the systems in turns, starting each round with another one. Repeats rounds that were disturbed by other
 * programs, within the waiting limit.
 */
export async function measureRounds(
  { waitBudget, store }: Pick<Bench, 'waitBudget' | 'store'>,
  { name, title, aims, processes = 1 }: Measured,
  targets: readonly Target[],
  count: number,
): Promise<Measurement> {
  const rounds: Round[] = []
  const waitsForDisk = name.startsWith('claim')
  for (let i = 0; i < count; i++) {
    await waitBudget.waitUntilIdle()
    let round = await runRound(targets, i)
    while (!waitsForDisk && wasHeldUp(round) && !waitBudget.isExhausted) {
      await waitBudget.waitUntilIdle()
      round = await waitBudget.spend(() => runRound(targets, i))
    }
    rounds.push(round)
  }
  const perSecond = ofEach((system) => medianOf(rounds, (round) => round[system]?.perSecond))
  const ratios = ofEach((system) => medianOf(rounds, ratioTo(system, perSecondOf)))
  const efficiency = medianOf(rounds, ratioTo('one', perCpuSecondOf))
  const oneByCpu = efficiency === null ? null : processes * efficiency
  const ceilingByCpu = medianOf(rounds, ratioTo('ceiling', perCpuSecondOf))
  const reached = { ...ratios, perSecond: perSecond.countersign, ceilingByCpu, oneByCpu }
  return {
    name,
    title,
    rounds,
    perSecond,
    best: ofEach((system) => bestOf(rounds, system)),
    ratioToCeiling: ratios.ceiling,
    ratioToNaive: ratios.naive,
    ratioToOne: ratios.one,
    ratioToBefore: ratios.before,
    byCpu: {
      ratioToCeiling: ceilingByCpu,
      ratioToNaive: medianOf(rounds, ratioTo('naive', perCpuSecondOf)),
      ratioToBefore: medianOf(rounds, ratioTo('before', perCpuSecondOf)),
      ratioToOne: oneByCpu,
    },
    aims: aims
      .filter(({ on = store.kind }) => on === store.kind)
      .map((aim) => ({ ...aim, met: (reached[aim.of] ?? 0) >= aim.atLeast })),
  }
}

/** The middle value, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const half = sorted.length / 2
  const [low, high] = [sorted[Math.ceil(half) - 1], sorted[Math.floor(half)]]
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2
}

/** @param first the index of the system to start with */
async function runRound(targets: readonly Target[], first: number): Promise<Round> {
  const round: Partial<Record<System, Sample>> = {}
  for (let k = 0; k < targets.length; k++) {
    const target = targets[(first + k) % targets.length] as Target
    round[target.system] = await sample(target)
  }
  return round
}

async function sample(target: Target): Promise<Sample> {
  const before = cpuSecondsOf(target.pids)
  const { requests, seconds, p50, p99 } = await target.load()
  const after = cpuSecondsOf(target.pids)
  const busy = before === null || after === null ? null : (after - before) / seconds
  return { perSecond: requests / seconds, p50, p99, busy }
}

function cpuSecondsOf(pids: readonly number[]): number | null {
  const each = pids.map(cpuSeconds).filter((seconds) => seconds !== null)
  return each.length === pids.length && each.length > 0 ? each.reduce((a, b) => a + b) : null
}

type Rate = (sample: Sample) => number | undefined

const perSecondOf: Rate = ({ perSecond }) => perSecond
const perCpuSecondOf: Rate = ({ perSecond, busy }) => (busy ? perSecond / busy : undefined)

function ratioTo(system: System, rate: Rate): (round: Round) => number | undefined {
  return ({ countersign, [system]: other }) => {
    const mine = countersign && rate(countersign)
    const theirs = other && rate(other)
    return mine && theirs && mine / theirs
  }
}

function ofEach<T>(value: (system: System) => T): Record<System, T> {
  return {
    countersign: value('countersign'),
    before: value('before'),
    ceiling: value('ceiling'),
    naive: value('naive'),
    one: value('one'),
  }
}

function bestOf(rounds: readonly Round[], system: System): number | null {
  const rates = rounds.map((round) => round[system]?.perSecond ?? 0)
  const best = Math.max(0, ...rates)
  return best === 0 ? null : best
}

function medianOf(
  rounds: readonly Round[],
  value: (round: Round) => number | undefined,
): number | null {
  const values = rounds.map(value).filter((each) => each !== undefined)
  return values.length === 0 ? null : median(values)
}
