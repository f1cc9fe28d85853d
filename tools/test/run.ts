import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  globSync,
  mkdtempSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, matchesGlob } from 'node:path'
import { launchBrowser } from '../../test/support/chromium.ts'
import { type PostgresServer, startPostgres } from '../../test/support/postgres.ts'
import { missingTools } from '../../test/support/tools.ts'
import { type Job, planJobs, TIERS, type Tier } from './plan.ts'
import { printProgress, printResults } from './print-results.ts'
import { type JobResult, runJob } from './run-job.ts'

/**
 * node tools/test/run.ts <quick|all|nightly> [--database=sqlite|postgres] [pattern ...]
 *
 * Runs the test files of a tier, or those of them that match a pattern, in a few processes at a time. Ends with the
 * totals that `node --test` prints. The exit code is 1 if a test failed, a process ended early, or a file ran no test.
 */
const ROOT = join(import.meta.dirname, '../..')
const MOST_PROCESSES = 4
/** A file system in memory, on Linux. In some containers it is too small. */
const MEMORY = '/dev/shm'
/** That has to be free, in bytes. */
const LEAST_MEMORY = { quick: 2 * 1024 ** 3, all: 8 * 1024 ** 3 }
/** Tests wait for child processes and sockets much of the time: one process more than there are cores keeps these busy. */
const PROCESSES = Math.min(availableParallelism() + 1, MOST_PROCESSES)

process.chdir(ROOT)
const [tier, ...rest] = process.argv.slice(2)
// `exit` ends the processes of tests.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
const isTier = TIERS.some((each) => each === tier)
process.exitCode = isTier && (await run(tier as Tier, rest)) ? 0 : 1

/** @returns whether everything passed */
async function run(tier: Tier, options: readonly string[]): Promise<boolean> {
  const began = performance.now()
  const jobs = wantedJobs(tier, options)
  if (jobs.length === 0) {
    console.error('No test file matches.')
    return false
  }
  if (tier !== 'nightly') keepDataInMemory(LEAST_MEMORY[tier])
  if (tier !== 'quick') preparePrograms()
  let server: PostgresServer | null = null
  try {
    const isWhole = options.length === 0
    if (isWhole && process.env.SKIP_BROWSER !== '1') await (await launchBrowser()).close()
    if (jobs.some(({ database }) => database === 'postgres')) server = await startPostgres()
    const results = await runJobs(jobs, { TEST_TIER: tier, TEST_POSTGRES: server?.url ?? '' })
    return printResults(results, performance.now() - began)
  } catch (error) {
    console.error((error as Error).message)
    return false
  } finally {
    await server?.stop()
  }
}

function wantedJobs(tier: Tier, options: readonly string[]): Job[] {
  const only = options.find((each) => each.startsWith('--database='))?.split('=')[1]
  const patterns = options.filter((each) => !each.startsWith('--'))
  const isWanted = (path: string) =>
    patterns.length === 0 || patterns.some((pattern) => matchesGlob(path, pattern))
  return planJobs(tier, isWanted).filter(({ database }) => (only ?? database) === database)
}

/** What tests store is gone after them: waiting for a disk is a third of their time. Nightly tests do wait. */
function keepDataInMemory(least: number): void {
  if (!existsSync(MEMORY)) return
  const { bavail, bsize } = statfsSync(MEMORY)
  if (bavail * bsize < least) return
  const dir = mkdtempSync(join(MEMORY, 'countersign-'))
  // PostgreSQL runs as a user of its own.
  chmodSync(dir, 0o755)
  process.once('exit', () => rmSync(dir, { recursive: true, force: true, maxRetries: 20 }))
  if (canRunPrograms(dir)) process.env.TMPDIR = dir
}

/** Containers often mount it with `noexec`, and some tests run a program that they have written. */
function canRunPrograms(dir: string): boolean {
  const program = join(dir, 'program')
  writeFileSync(program, '', { mode: 0o700 })
  try {
    accessSync(program, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** All tests run on Debian's PostgreSQL where it is installed: its tools for backups refuse newer servers. */
function preparePrograms(): void {
  for (const line of missingTools()) console.log(`missing, its tests are skipped: ${line}`)
  const installed = globSync('/usr/lib/postgresql/*/bin/initdb').toSorted().at(-1)
  if (installed !== undefined) process.env.TEST_POSTGRES_BIN ??= join(installed, '..')
}

async function runJobs(jobs: readonly Job[], env: Record<string, string>): Promise<JobResult[]> {
  const waiting = [...jobs]
  const results: JobResult[] = []
  const work = async () => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      const result = await runJob(job, {
        ...env,
        TEST_DATABASE: job.database,
        NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/compiled'),
      })
      results.push(result)
      printProgress(result, `${results.length}/${jobs.length}`)
    }
  }
  await Promise.all(Array.from({ length: PROCESSES }, work))
  return results
}
