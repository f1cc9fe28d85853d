import { availableParallelism } from 'node:os'
import { join, matchesGlob } from 'node:path'
import { type Job, planJobs } from './plan-jobs.ts'
import { printResults } from './print-results.ts'
import { type JobResult, runJob } from './run-job.ts'
import { filesOf, type Tier } from './tiers.ts'

/**
 * node tools/test/run.ts <quick|all> [--database=sqlite|postgres] [pattern ...]
 *
 * Runs the test files of a tier, or those of them that match a pattern, in one process a core at a time. Ends with the
 * totals that `node --test` prints. The exit code is 1 where a test failed, a process ended early, or a file ran no test.
 */
const ROOT = join(import.meta.dirname, '../..')
process.chdir(ROOT)

const [tier = 'quick', ...rest] = process.argv.slice(2)
const database = rest.find((each) => each.startsWith('--database='))?.split('=')[1]
const patterns = rest.filter((each) => !each.startsWith('--'))
const files = filesOf(tier as Tier).filter(
  (file) =>
    (database === undefined || file.database === database) &&
    (patterns.length === 0 || patterns.some((pattern) => matchesGlob(file.path, pattern))),
)
if (files.length === 0) {
  console.error('No test file matches.')
  process.exit(1)
}

const began = performance.now()
const env = {
  TEST_TIER: tier,
  NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/compiled'),
}
const results = await runAll(planJobs(files))
process.exitCode = printResults(results, performance.now() - began) ? 0 : 1

async function runAll(jobs: readonly Job[]): Promise<JobResult[]> {
  const waiting = [...jobs]
  const results: JobResult[] = []
  const work = async () => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      const result = await runJob(job, { ...env, TEST_DATABASE: job.database })
      results.push(result)
      tell(result, results.length, jobs.length)
    }
  }
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), 4) }, work))
  return results
}

function tell({ job, reports, problem }: JobResult, done: number, all: number): void {
  const failed = reports.filter(({ type }) => type === 'failed').length
  const tests = reports.find((each) => each.type === 'totals')?.counts.tests ?? 0
  const mark = failed > 0 || problem !== null ? '✖' : '✔'
  console.log(`${mark} ${done}/${all} ${job.database}: ${job.paths.length} files, ${tests} tests`)
}
