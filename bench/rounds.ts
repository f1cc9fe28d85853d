import type { Loaded } from './load.ts'
import { cpuSeconds } from './process.ts'
import type { Aim } from './questions.ts'
import type { Bench, System } from './systems.ts'

/** A system under load: how to load it once. */
export interface Target {
  readonly system: System
  /** Its processes, where their processor time counts. */
  readonly pids: readonly number[]
  load(): Promise<Pick<Loaded, 'requests' | 'seconds' | 'p50' | 'p99'>>
}

/** One system in one round. */
interface Sample {
  readonly perSecond: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  /** How many cores the server had, in parts of one; null where it cannot be told. */
  readonly busy: number | null
}

export type Round = Readonly<Partial<Record<System, Sample>>>

export interface Measurement {
  readonly name: string
  readonly title: string
  readonly rounds: readonly Round[]
  /** Medians of the rounds; null where the system was not measured. */
  readonly perSecond: Readonly<Record<System, number | null>>
  /** Those of the best round of each: other programs make a server slower, never faster. */
  readonly best: Readonly<Record<System, number | null>>
  /** Medians of the ratios within each round: what else ran on the machine mostly cancels out. */
  readonly ratioToCeiling: number | null
  readonly ratioToNaive: number | null
  readonly ratioToOne: number | null
  /** The same for requests in a second of processor time, which the server's core spent on nothing else. */
  readonly byCpu: { readonly ratioToCeiling: number | null; readonly ratioToNaive: number | null }
  readonly aims: readonly (Aim & { readonly met: boolean })[]
}

/** A little load before the rounds, so that no system is measured while its code is still being compiled. */
export function warmUpSeconds({ seconds }: { readonly seconds: number }): number {
  return Math.min(1, seconds / 5)
}

/** Below this share of a core a server was not what was measured. */
export const BUSY = 0.9

/** Whether something else took a server's core. Claims wait for the disk anyway, and have no ceiling. */
export function wasHeldUp(round: Round): boolean {
  const samples: readonly Sample[] = Object.values(round)
  return round.ceiling !== undefined && samples.some(({ busy }) => busy !== null && busy < BUSY)
}

/** Lets the systems take turns, another one first in each round. Patience repeats the rounds that others held up. */
export async function measureRounds(
  { patience, store }: Pick<Bench, 'patience' | 'store'>,
  { name, title, aims }: { name: string; title: string; aims: readonly Aim[] },
  targets: readonly Target[],
  count: number,
): Promise<Measurement> {
  const rounds: Round[] = []
  for (let i = 0; i < count; i++) {
    await patience.untilQuiet()
    let round = await takeTurns(targets, i)
    while (wasHeldUp(round) && !patience.isOver) {
      await patience.untilQuiet()
      round = await patience.spend(() => takeTurns(targets, i))
    }
    rounds.push(round)
  }
  const perSecond = ofEach((system) => medianOf(rounds, (round) => round[system]?.perSecond))
  const ratios = ofEach((system) => medianOf(rounds, ratioTo(system, perSecondOf)))
  const reached = { ...ratios, perSecond: perSecond.countersign }
  return {
    name,
    title,
    rounds,
    perSecond,
    best: ofEach((system) => bestOf(rounds, system)),
    ratioToCeiling: ratios.ceiling,
    ratioToNaive: ratios.naive,
    ratioToOne: ratios.one,
    byCpu: {
      ratioToCeiling: medianOf(rounds, ratioTo('ceiling', perCpuSecondOf)),
      ratioToNaive: medianOf(rounds, ratioTo('naive', perCpuSecondOf)),
    },
    aims: aims
      .filter(({ on = store.kind }) => on === store.kind)
      .map((aim) => ({ ...aim, met: (reached[aim.of] ?? 0) >= aim.atLeast })),
  }
}

/** The middle one, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const half = sorted.length / 2
  const [low, high] = [sorted[Math.ceil(half) - 1], sorted[Math.floor(half)]]
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2
}

/** @param first the number of the target that begins */
async function takeTurns(targets: readonly Target[], first: number): Promise<Round> {
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
