import { statSync } from 'node:fs'
import type { Database, TestFile } from './tiers.ts'

/** Test files that run in one process, one after another. */
export interface Job {
  readonly database: Database
  readonly paths: readonly string[]
}

/** Jobs a database: few, since each loads the service's modules; more than there are cores, so that all end together. */
const JOBS = 6

/** Deals files out to processes, so that each has about as much to do, by the sizes of the files. */
export function planJobs(files: readonly TestFile[]): Job[] {
  const isolated = files.filter(({ isIsolated }) => isIsolated)
  const shared = files.filter(({ isIsolated }) => !isIsolated)
  return [
    ...deal(shared.filter(({ database }) => database === 'postgres')),
    ...deal(shared.filter(({ database }) => database === 'sqlite')),
    ...isolated.map(({ database, path }) => ({ database, paths: [path] })),
  ]
}

function deal(files: readonly TestFile[]): Job[] {
  const count = Math.min(JOBS, Math.ceil(files.length / 4))
  const jobs = Array.from({ length: count }, () => ({ size: 0, paths: [] as string[] }))
  const bySize = files
    .map(({ path, database }) => ({ path, database, size: statSync(path).size }))
    .toSorted((a, b) => b.size - a.size || (a.path < b.path ? -1 : 1))
  for (const { path, size } of bySize) {
    const smallest = jobs.reduce((best, each) => (each.size < best.size ? each : best))
    smallest.paths.push(path)
    smallest.size += size
  }
  const database = files[0]?.database ?? 'sqlite'
  return jobs.map(({ paths }) => ({ database, paths: paths.toSorted() }))
}
