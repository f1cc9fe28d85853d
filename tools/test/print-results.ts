import { relative } from 'node:path'
import type { Report } from './reporter.ts'
import type { JobResult } from './run-job.ts'

const SLOWEST = 10
/** The name that `node --test` prints for each of its counts. */
const TOTALS = {
  tests: 'tests',
  suites: 'suites',
  passed: 'pass',
  failed: 'fail',
  cancelled: 'cancelled',
  skipped: 'skipped',
  todo: 'todo',
} as const

export function printProgress(
  { job, reports, problem, output, ms }: JobResult,
  place: string,
): void {
  const failed = only(reports, 'failed')
  const mark = failed.length > 0 || problem !== null ? '✖' : '✔'
  const tests = only(reports, 'totals')[0]?.counts.tests ?? 0
  console.log(
    `${mark} ${place} ${job.database}: ${job.paths.length} files, ${tests} tests, ${Math.round(ms / 1000)} s`,
  )
  // Now and not at the end: a run of half an hour that is interrupted has said why.
  for (const { at, name, error } of failed)
    console.log(`    ✖ ${name} (${at})\n${error.replace(/^/gm, '      ')}`)
  if (problem !== null) console.log(`    ✖ ${problem}\n${output}`)
}

/** Prints what failed, the slowest files, and the totals in the form of `node --test`. @returns whether all went well */
export function printResults(results: readonly JobResult[], ms: number): boolean {
  for (const { job, reports, problem } of results) {
    for (const { at, name } of only(reports, 'failed'))
      console.log(`\n✖ ${name}\n  ${at} (${job.database})`)
    if (problem !== null) console.log(`\n✖ ${problem}: a process for ${job.database}`)
  }
  const reports = results.flatMap((each) => each.reports)
  for (const [reason, count] of sums(only(reports, 'skipped').map(({ reason }) => [reason, 1])))
    console.log(`\n﹣ ${count} skipped: ${reason}`)
  printSlowest(results)
  const counts = only(reports, 'totals').map((each) => each.counts)
  console.log()
  for (const [count, name] of Object.entries(TOTALS))
    console.log(`ℹ ${name} ${counts.reduce((sum, each) => sum + (each[count] ?? 0), 0)}`)
  console.log(`ℹ duration_ms ${ms}`)
  return results.every((each) => each.problem === null && only(each.reports, 'failed').length === 0)
}

function printSlowest(results: readonly JobResult[]): void {
  const took = results.flatMap(({ job, reports }) =>
    only(reports, 'took').map(
      ({ file, ms }) => [`${relative('.', file)} (${job.database})`, ms] as const,
    ),
  )
  console.log('\nThe slowest files, in seconds:')
  for (const [file, ms] of [...sums(took)].toSorted((a, b) => b[1] - a[1]).slice(0, SLOWEST))
    console.log(`${(ms / 1000).toFixed(1).padStart(8)}  ${file}`)
}

function only<T extends Report['type']>(reports: readonly Report[], type: T) {
  return reports.filter((each): each is Extract<Report, { type: T }> => each.type === type)
}

function sums(numbers: readonly (readonly [string, number])[]): Map<string, number> {
  const found = new Map<string, number>()
  for (const [key, number] of numbers) found.set(key, (found.get(key) ?? 0) + number)
  return found
}
