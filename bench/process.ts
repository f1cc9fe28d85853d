import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { BASE_ENV } from '../test/support/run.ts'
import { HOST, type HttpRequest, sendRequest } from './http-exchange.ts'
import type { Scope } from './scope.ts'

/** A server that the bench started. */
export interface ServerProcess {
  readonly port: number
  readonly pid: number
  /** Milliseconds from the start to the first 200 on each readiness path. */
  readonly firstAnswers: readonly number[]
  stop(): Promise<void>
}

export interface Launch {
  /** Arguments for Node: a script and its own arguments. */
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly port: number
  /** A core, or several separated by commas; null for any. */
  readonly core: string | null
  /** Paths that must answer 200 before the process counts as started. */
  readonly until: readonly HttpRequest[]
}

/** Loading ten million agents from a database takes minutes. */
const START_DEADLINE_MS = 600_000
const STOP_DEADLINE_MS = 15_000

/** Starts Node. */
export async function startServer(scope: Scope, launch: Launch): Promise<ServerProcess> {
  const started = performance.now()
  const child = spawnOn(launch.core, process.execPath, launch.args, {
    ...BASE_ENV,
    ...launch.env,
  })
  const output = lastOutput(child)
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const stop = scope.defer(async () => {
    child.kill('SIGTERM')
    const late = setTimeout(() => child.kill('SIGKILL'), STOP_DEADLINE_MS)
    await exited
    clearTimeout(late)
  })
  const firstAnswers = await Promise.all(
    launch.until.map((each) => firstAnswer(launch.port, each, child, output, started)),
  )
  return { port: launch.port, pid: child.pid as number, firstAnswers, stop }
}

/** With setpriv, the kernel ends the child processes when the bench dies, even if it is killed. */
const SETPRIV = isInstalled('setpriv', ['--version']) ? ['setpriv', '--pdeathsig', 'KILL'] : []

/**
 * Spawns a program.
 * @param core a core, or several separated by commas; null for any
 */
export function spawnOn(
  core: string | null,
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): ChildProcess {
  const pinning = core === null ? [] : ['taskset', '-c', core]
  const [first = command, ...rest] = [...pinning, ...SETPRIV, command, ...args]
  return spawn(first, rest, { env, stdio: ['ignore', 'pipe', 'pipe'] })
}

/** Whether a program is installed. */
export function isInstalled(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).error === undefined
}

/** A free port of the loopback interface. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Resident memory in bytes, or null without /proc. */
export function residentBytes(pid: number): number | null {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readProc(`/proc/${pid}/status`))?.[1]
  return kib === undefined ? null : Number(kib) * 1024
}

/** The CPU time that a process has used, in seconds, or null without /proc. */
export function cpuSeconds(pid: number): number | null {
  const fields = readProc(`/proc/${pid}/stat`).split(') ')[1]?.split(' ')
  if (fields === undefined) return null
  // Fields 14 and 15 of proc_pid_stat(5), in clock ticks of 10 ms: user and system time.
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/** All descendants of a process. */
export function descendantsOf(pid: number): number[] {
  const parents = readdirSync('/proc')
    .map(Number)
    .filter((each) => each > 0)
    .map(
      (each) => [each, Number(/\) \S (\d+) /.exec(readProc(`/proc/${each}/stat`))?.[1])] as const,
    )
  const below = (parent: number): number[] =>
    parents.filter(([, of]) => of === parent).flatMap(([each]) => [each, ...below(each)])
  return below(pid)
}

function readProc(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

async function firstAnswer(
  port: number,
  scenario: HttpRequest,
  child: ChildProcess,
  output: () => string,
  started: number,
): Promise<number> {
  while (performance.now() - started < START_DEADLINE_MS) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`the server ended:\n${output()}`)
    }
    const answer = await sendRequest(port, scenario).catch(() => null)
    if (answer?.status === 200) return performance.now() - started
    // Polling uses the server's CPU, and half a percent of the start-up time is precise enough.
    await sleep(Math.max(2, (performance.now() - started) / 200))
  }
  throw new Error(`${scenario.path} has no answer:\n${output()}`)
}

function lastOutput(child: ChildProcess): () => string {
  let text = ''
  const keep = (chunk: Buffer) => {
    text = `${text}${chunk}`.slice(-10_000)
  }
  child.stdout?.on('data', keep)
  child.stderr?.on('data', keep)
  child.on('error', (error) => keep(Buffer.from(error.message)))
  return () => text
}
