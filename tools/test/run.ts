import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, matchesGlob } from 'node:path'
import { launchBrowser } from '../../test/support/chromium.ts'
import { type PostgresServer, startPostgres } from '../../test/support/postgres.ts'
import { missingTools } from '../../test/support/tools.ts'
import { recordDurations } from './costs.ts'
import { type Job, planJobs } from './plan-jobs.ts'
import { printResults } from './print-results.ts'
import { type JobResult, runJob } from './run-job.ts'
import { filesOf, type TestFile, type Tier } from './tiers.ts'

/**
 * node tools/test/run.ts <quick|all> [--database=sqlite|postgres] [--record] [pattern ...]
 *
 * Runs the test files of a tier, or those of them that match a pattern, in a few processes at a time. Ends with the
 * totals that `node --test` prints. `--record` keeps the measured durations for the next run. The exit code is 1 if a test failed, a process ended early, or a file ran no test.
 */
const ROOT = join(import.meta.dirname, '../..')
const MOST_PROCESSES = 4
/** Tests wait for child processes and sockets much of the time: one process more than there are cores keeps these busy. */
const PROCESSES = Math.min(availableParallelism() + 1, MOST_PROCESSES)

process.chdir(ROOT)
const [tier = 'quick', ...rest] = process.argv.slice(2)
const isRecording = rest.includes('--record')
const isWhole = !rest.some((each) => each !== '--record')
const files = filesOf(tier as Tier).filter(wanted)
const began = performance.now()
// `exit` ends the processes of tests.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
process.exitCode = (await run()) ? 0 : 1

/** @returns whether everything passed */
async function run(): Promise<boolean> {
  if (files.length === 0) {
    console.error('No test file matches.')
    return false
  }
  if (tier === 'all') preparePrograms()
  let server: PostgresServer | null = null
  try {
    if (isWhole && process.env.SKIP_BROWSER !== '1') await (await launchBrowser()).close()
    if (files.some(({ database }) => database === 'postgres')) server = await startPostgres()
  } catch (error) {
    console.error((error as Error).message)
    await server?.stop()
    return false
  }
  try {
    const results = await runJobs(planJobs(files, tier as Tier), server?.url ?? '')
    if (isRecording) recordDurations(results, join(import.meta.dirname, 'durations.json'))
    return printResults(results, performance.now() - began)
  } finally {
    await server?.stop()
  }
}

function wanted({ path, database }: TestFile): boolean {
  const of = rest.find((each) => each.startsWith('--database='))?.split('=')[1]
  const patterns = rest.filter((each) => !each.startsWith('--'))
  return (
    (of === undefined || of === database) &&
    (patterns.length === 0 || patterns.some((pattern) => matchesGlob(path, pattern)))
  )
}

/** All tests run on Debian's PostgreSQL where it is installed: its tools for backups refuse newer servers. */
function preparePrograms(): void {
  for (const line of missingTools()) console.log(`missing, its tests are skipped: ${line}`)
  const installed = globSync('/usr/lib/postgresql/*/bin/initdb').toSorted().at(-1)
  if (installed !== undefined) process.env.TEST_POSTGRES_BIN ??= join(installed, '..')
}

async function runJobs(jobs: readonly Job[], postgresUrl: string): Promise<JobResult[]> {
  const waiting = [...jobs]
  const results: JobResult[] = []
  const work = async () => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      const result = await runJob(job, {
        TEST_TIER: tier,
        TEST_DATABASE: job.database,
        TEST_POSTGRES: postgresUrl,
        NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/compiled'),
      })
      results.push(result)
      printProgress(result, results.length, jobs.length)
    }
  }
  await Promise.all(Array.from({ length: PROCESSES }, work))
  return results
}

function printProgress({ job, reports, problem, ms }: JobResult, done: number, all: number): void {
  const failed = reports.filter((each) => each.type === 'failed')
  const tests = reports.find((each) => each.type === 'totals')?.counts.tests ?? 0
  const mark = failed.length > 0 || problem !== null ? '✖' : '✔'
  const what = `${job.paths.length} files, ${tests} tests, ${Math.round(ms / 1000)} s`
  console.log(`${mark} ${done}/${all} ${job.database}: ${what}`)
  for (const { at, name } of failed) console.log(`    ✖ ${name} (${at})`)
}
