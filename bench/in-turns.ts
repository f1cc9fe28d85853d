import { timesOf } from './statistics.ts'

/** Something that is done many times. */
interface Work {
  /** Makes what the next runs take, outside the time that is measured. */
  readonly prepare?: (runs: number) => void | Promise<void>
  readonly run: () => unknown
  /** Whether the runs of a turn begin together, as requests that a server reads at once. Default: one after another. */
  readonly together?: boolean
}

/** So few that what was prepared is still in the caches of the processor, as what a server has just received. */
const RUNS = 20
/** Turns before the first that counts, so that all code is compiled. */
const WARM_UP_SHARE = 0.5

/**
 * Does several works in turns, because other programs slow all of them down.
 * @returns the microseconds of processor time that a run of each took, threads of V8 included: medians of the turns
 */
export async function inTurns<Name extends string>(
  works: Readonly<Record<Name, Work>>,
  turns: number,
): Promise<Readonly<Record<Name, number>>> {
  const names = Object.keys(works) as Name[]
  const times = new Map(names.map((name) => [name, [] as number[]]))
  for (let turn = -turns * WARM_UP_SHARE; turn < turns; turn += 1) {
    for (const name of names) {
      const { prepare, run, together = false } = works[name]
      await prepare?.(RUNS)
      const started = process.cpuUsage()
      if (together) await Promise.all(Array.from({ length: RUNS }, run))
      else for (let i = 0; i < RUNS; i += 1) await run()
      const { user, system } = process.cpuUsage(started)
      if (turn >= 0) times.get(name)?.push((user + system) / RUNS)
    }
  }
  const medians = names.map((name) => [name, timesOf(times.get(name) ?? []).p50])
  return Object.fromEntries(medians) as Record<Name, number>
}
