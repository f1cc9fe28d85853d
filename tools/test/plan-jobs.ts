import durations from './durations.json' with { type: 'json' }
import type { Database, TestFile, Tier } from './tiers.ts'

/** Test files that run in one process, one after another. */
export interface Job {
  readonly database: Database
  readonly paths: readonly string[]
}

/** Few, since each loads the service's modules; a multiple of the processes that run, so that all end together. */
const JOBS: Readonly<Record<Tier, Readonly<Record<Database, number>>>> = {
  quick: { postgres: 3, sqlite: 6 },
  all: { postgres: 12, sqlite: 12 },
  nightly: { postgres: 0, sqlite: 2 },
}

/** What a new file is taken to need, in seconds. */
const USUAL_SECONDS = 2

/** Deals files out to processes, so that each has about as much to do, by the recorded durations of the files. */
export function planJobs(files: readonly TestFile[], tier: Tier): Job[] {
  const isolated = files.filter(({ isIsolated }) => isIsolated)
  const shared = files.filter(({ isIsolated }) => !isIsolated)
  return [
    ...deal(
      shared.filter(({ database }) => database === 'postgres'),
      JOBS[tier].postgres,
    ),
    ...deal(
      shared.filter(({ database }) => database === 'sqlite'),
      JOBS[tier].sqlite,
    ),
    ...isolated.map(({ database, path }) => ({ database, paths: [path] })),
  ]
}

function deal(files: readonly TestFile[], most: number): Job[] {
  const database = files[0]?.database ?? 'sqlite'
  const count = Math.min(most, Math.ceil(files.length / 4))
  const jobs = Array.from({ length: count }, () => ({ seconds: 0, paths: [] as string[] }))
  const longestFirst = files
    .map((file) => ({ path: file.path, seconds: secondsOf(file) }))
    .toSorted((a, b) => b.seconds - a.seconds || (a.path < b.path ? -1 : 1))
  for (const { path, seconds } of longestFirst) {
    const shortest = jobs.reduce((best, each) => (each.seconds < best.seconds ? each : best))
    shortest.paths.push(path)
    shortest.seconds += seconds
  }
  return jobs.map(({ paths }) => ({ database, paths: paths.toSorted() }))
}

function secondsOf({ path, database }: TestFile): number {
  const recorded: Readonly<Record<string, number>> = durations[database]
  return recorded[path] ?? USUAL_SECONDS
}
