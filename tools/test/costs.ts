import { writeFileSync } from 'node:fs'
import type { JobResult } from './run-job.ts'
import type { Database } from './tiers.ts'

/** What the tests of one file cost on one database, in milliseconds. */
export interface FileCost {
  readonly path: string
  readonly database: Database
  readonly ms: number
  readonly cpuMs: number
}

export function sumCosts(results: readonly JobResult[]): FileCost[] {
  const files = new Map<string, FileCost>()
  for (const { job, costs } of results) {
    for (const { path, ms, cpuMs } of costs) {
      const key = `${job.database} ${path}`
      const sum = files.get(key) ?? { path, database: job.database, ms: 0, cpuMs: 0 }
      files.set(key, { ...sum, ms: sum.ms + ms, cpuMs: sum.cpuMs + cpuMs })
    }
  }
  return [...files.values()]
}

/** Writes how many seconds each file took, by which the next run deals the files out to processes. */
export function recordDurations(results: readonly JobResult[], file: string): void {
  const costs = sumCosts(results).toSorted((a, b) => (a.path < b.path ? -1 : 1))
  const durations = Object.fromEntries(
    (['postgres', 'sqlite'] as const).map((database) => [
      database,
      Object.fromEntries(
        costs
          .filter((each) => each.database === database)
          .map(({ path, ms }) => [path, Math.ceil(ms / 100) / 10]),
      ),
    ]),
  )
  writeFileSync(file, `${JSON.stringify(durations, null, 2)}\n`)
}
