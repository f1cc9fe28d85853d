import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Job } from './plan.ts'
import type { Report } from './reporter.ts'

const HERE = import.meta.dirname
const ROOT = join(HERE, '../..')
/** Of one test, in milliseconds. */
const TEST_TIMEOUT = 180_000
/** Of a whole process, in milliseconds. It ends one whose tests do not end; the longest takes 17 minutes on a busy machine. */
const JOB_TIMEOUT = 2_400_000

export interface JobResult {
  readonly job: Job
  readonly reports: readonly Report[]
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
  const file = join(dir, 'report')
  const began = performance.now()
  try {
    const { code, output } = await runNode(job.paths, { ...env, TEST_REPORT: file })
    const reports = readReports(file)
    return {
      job,
      reports,
      output,
      problem: problemOf(code, reports),
      ms: performance.now() - began,
    }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

function problemOf(code: string, reports: readonly Report[]): string | null {
  const types = new Set(reports.map(({ type }) => type))
  const why = reports.flatMap((each) => (each.type === 'warned' ? [`\n${each.message}`] : []))
  if (!types.has('totals')) return `the process ended before its tests did (${code})${why.join('')}`
  if (code === '0' || types.has('failed')) return null
  return `the process failed (${code}), and no test did${why.join('')}`
}

function runNode(
  paths: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ code: string; output: string }> {
  const args = [
    '--test',
    '--test-isolation=none',
    `--test-timeout=${TEST_TIMEOUT}`,
    `--import=${join(HERE, 'seed.ts')}`,
    `--test-reporter=${join(HERE, 'reporter.ts')}`,
    '--test-reporter-destination=stdout',
    ...paths,
  ]
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

function readReports(file: string): Report[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Report)
}
