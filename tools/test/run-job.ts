import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import type { Job } from './plan-jobs.ts'
import type { Cost } from './preload.ts'
import type { Report } from './reporter.ts'

const HERE = import.meta.dirname
const ROOT = join(HERE, '../..')
/** Of one test, in milliseconds. */
const TEST_TIMEOUT = 180_000
/** Of a whole process, in milliseconds. It ends one that hangs between tests; the longest takes 25 minutes on a busy machine. */
const JOB_TIMEOUT = 3_600_000

export interface JobResult {
  readonly job: Job
  readonly reports: readonly Report[]
  readonly costs: readonly Cost[]
  /** What the tests printed. */
  readonly output: string
  /** Why its process is not to be believed, or null. */
  readonly problem: string | null
  /** How long its process ran, in milliseconds. */
  readonly ms: number
}

/** Runs the test files of a job in a process of their own, and reads what it reports. */
export async function runJob(job: Job, env: Readonly<Record<string, string>>): Promise<JobResult> {
  const dir = mkdtempSync(join(tmpdir(), 'countersign-tests-'))
  const began = performance.now()
  try {
    const reportFile = join(dir, 'report')
    const costFile = join(dir, 'costs')
    const args = [
      ...['--import', join(HERE, 'preload.ts'), '--test', '--test-isolation=none'],
      ...[`--test-timeout=${TEST_TIMEOUT}`, `--test-reporter=${join(HERE, 'reporter.ts')}`],
      ...['--test-reporter-destination=stdout', ...job.paths],
    ]
    const { code, output } = await runNode(args, {
      ...env,
      TEST_COSTS: costFile,
      TEST_REPORT: reportFile,
    })
    const reports = readLines<Report>(reportFile)
    const costs = readLines<Cost>(costFile).map((cost) => ({
      ...cost,
      path: relative(ROOT, cost.path),
    }))
    const problem = problemOf(job, code, reports, costs)
    return { job, reports, costs, output, problem, ms: performance.now() - began }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

function problemOf(
  job: Job,
  code: string,
  reports: readonly Report[],
  costs: readonly Cost[],
): string | null {
  const totals = reports.find(({ type }) => type === 'totals')
  if (totals === undefined) return `the process ended before its tests did (${code})`
  const seen = new Set(costs.map(({ path }) => path))
  for (const report of reports) if (report.type === 'skipped') seen.add(relative(ROOT, report.path))
  const unseen = job.paths.filter((path) => !seen.has(path))
  if (unseen.length > 0) return `no test ran in ${unseen.join(', ')}`
  const hasFailed = reports.some(({ type }) => type === 'failed')
  if (code !== '0' && !hasFailed) return `the process failed (${code}), and no test did`
  return null
}

function runNode(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ code: string; output: string }> {
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    // Within a test, Node would take another `node --test` for a part of it, and run nothing.
    env: { ...process.env, ...env, NODE_TEST_CONTEXT: undefined },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group of its own, so that programs that its tests started can be ended with it.
    detached: true,
  })
  const end = () => killGroup(child.pid)
  const timeout = setTimeout(end, JOB_TIMEOUT)
  process.once('exit', end)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8')
    stream.on('data', (chunk) => (output += chunk))
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    // Not `close`: programs that a test has left behind may hold the streams open.
    child.once('exit', (code, signal) => {
      clearTimeout(timeout)
      process.off('exit', end)
      end()
      resolve({ code: String(code ?? signal), output })
    })
  })
}

function killGroup(leader: number | undefined): void {
  if (leader === undefined) return
  try {
    process.kill(-leader, 'SIGKILL')
  } catch {
    // Nothing of it is left.
  }
}

function readLines<T>(file: string): T[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as T)
}
