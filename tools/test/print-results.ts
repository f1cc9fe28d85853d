import { sumCosts } from './costs.ts'
import { COUNTS, type Totals } from './reporter.ts'
import type { JobResult } from './run-job.ts'

const SLOWEST = 10

/** Prints what went wrong, the slowest files, and the totals in the form of `node --test`. @returns whether all went well */
export function printResults(results: readonly JobResult[], milliseconds: number): boolean {
  const isFine = printFailures(results)
  printSkipped(results)
  printSlowest(results)
  printTotals(results, milliseconds)
  return isFine
}

function printFailures(results: readonly JobResult[]): boolean {
  let isFine = true
  for (const { job, reports, problem, output } of results) {
    const failed = reports.filter((each) => each.type === 'failed')
    if (failed.length === 0 && problem === null) continue
    isFine = false
    for (const { at, name, error } of failed) {
      console.log(`\n✖ ${name}\n  ${at} (${job.database})\n${error.replace(/^/gm, '  ')}`)
    }
    if (problem !== null) {
      console.log(`\n✖ ${problem}: a process for ${job.database}\n${output}`)
    }
  }
  return isFine
}

function printSkipped(results: readonly JobResult[]): void {
  const reasons = new Map<string, number>()
  for (const report of results.flatMap(({ reports }) => reports)) {
    if (report.type !== 'skipped') continue
    reasons.set(report.reason, (reasons.get(report.reason) ?? 0) + 1)
  }
  for (const [reason, count] of reasons) console.log(`\n﹣ ${count} skipped: ${reason}`)
}

function printSlowest(results: readonly JobResult[]): void {
  const slowest = sumCosts(results)
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, SLOWEST)
  console.log('\nThe slowest files, in seconds (of which the test process used the processor):')
  for (const { path, database, ms, cpuMs } of slowest)
    console.log(`  ${seconds(ms)} (${seconds(cpuMs)})  ${path} (${database})`)
}

function printTotals(results: readonly JobResult[], milliseconds: number): void {
  const totals = results.flatMap(({ reports }) =>
    reports.filter((each): each is Totals => each.type === 'totals'),
  )
  console.log()
  for (const count of COUNTS) {
    const sum = totals.reduce((all, { counts }) => all + counts[count], 0)
    console.log(
      `ℹ ${count.replace(/ed$/, (end) => (count === 'passed' || count === 'failed' ? '' : end))} ${sum}`,
    )
  }
  console.log(`ℹ duration_ms ${milliseconds}`)
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1).padStart(6)
}
