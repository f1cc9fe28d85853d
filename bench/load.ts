import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { HOST } from './http-exchange.ts'
import type { Machine, Pinned } from './machine.ts'
import { spawnOn } from './process.ts'
import type { Scope } from './scope.ts'

const AUTOCANNON = import.meta.resolve('./load-autocannon.ts')

/** Requests to one server: a GET for each tail of a file, or a POST for each of its lines. */
export interface Load {
  readonly port: number
  readonly method: 'GET' | 'POST'
  readonly before: string
  readonly after: string
  readonly file: string
  readonly headers: Readonly<Record<string, string>>
  /** A header to send the tail in, if it is not part of the path. */
  readonly tailHeader?: string
  readonly connections: number
  readonly seconds: number
}

/** The counts of a load generator. */
export interface LoadResult {
  readonly requests: number
  readonly seconds: number
  /** Bytes received, including heads. */
  readonly bytes: number
  /** All failures: sockets, time-outs, statuses other than 2xx. */
  readonly errors: number
  /** Latencies in milliseconds. */
  readonly p50: number
  readonly p99: number
}

/**
 * Loads a server with wrk or autocannon.
 * @throws Error if any response is not 2xx
 */
export async function loadServer(
  scope: Scope,
  machine: Machine,
  load: Load,
  core: keyof Pinned = 'load',
): Promise<LoadResult> {
  const loaded = (
    machine.generator === 'wrk'
      ? await runLoader(scope, machine, load, 'wrk', wrkArguments(load), core)
      : await runScript(scope, machine, load, AUTOCANNON, load, core)
  ) as LoadResult
  if (loaded.errors === 0) return loaded
  throw new Error(`${loaded.errors} errors under load: ${load.method} ${load.before}`)
}

/** Loads several servers at once, with an equal share of the connections. */
export async function loadServers(
  scope: Scope,
  machine: Machine,
  ports: readonly number[],
  load: Omit<Load, 'port'>,
): Promise<LoadResult> {
  const connections = Math.max(1, Math.floor(load.connections / ports.length))
  const all = await Promise.all(
    ports.map((port) => loadServer(scope, machine, { ...load, port, connections }, 'all')),
  )
  const sum = (of: 'requests' | 'bytes' | 'errors') => all.reduce((n, each) => n + each[of], 0)
  const highest = (of: 'seconds' | 'p50' | 'p99') => Math.max(...all.map((each) => each[of]))
  return {
    requests: sum('requests'),
    bytes: sum('bytes'),
    errors: sum('errors'),
    seconds: highest('seconds'),
    p50: highest('p50'),
    p99: highest('p99'),
  }
}

/**
 * Runs one of our load scripts with its task as JSON.
 * @param core the core to run on: normally that of the load, but the server's for work that a server would do
 */
export function runScript(
  scope: Scope,
  machine: Machine,
  { seconds }: Pick<Load, 'seconds'>,
  script: string,
  task: unknown,
  core: keyof Pinned = 'load',
): Promise<unknown> {
  const args = [fileURLToPath(script), JSON.stringify(task)]
  return runLoader(scope, machine, { seconds }, process.execPath, args, core)
}

function wrkArguments(load: Load): string[] {
  const headers = Object.entries(load.headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const script = join(import.meta.dirname, 'load.lua')
  return [
    ...['-t', '1', '-c', String(load.connections), '-d', `${load.seconds}s`, '-s', script],
    `http://${HOST}:${load.port}`,
    ...['--', load.method, load.file, load.before, load.after, headers.join('')],
    ...(load.tailHeader === undefined ? [] : [load.tailHeader]),
  ]
}

/** Waits for the line `RESULT {…}` until a time-out. */
async function runLoader(
  scope: Scope,
  { pinned }: Machine,
  { seconds }: Pick<Load, 'seconds'>,
  command: string,
  args: readonly string[],
  core: keyof Pinned = 'load',
): Promise<unknown> {
  const child = spawnOn(pinned?.[core] ?? null, command, args)
  const stop = scope.defer(() => child.kill('SIGKILL'))
  const late = setTimeout(() => child.kill('SIGKILL'), (seconds + 30) * 1000)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output += chunk
    })
  }
  const end = await new Promise<string>((resolve, reject) => {
    child.once('close', (code, signal) => resolve(signal ?? `exit code ${code}`))
    child.once('error', reject)
  })
  clearTimeout(late)
  await stop()
  const result = /^RESULT (.*)$/m.exec(output)?.[1]
  if (result === undefined) throw new Error(`${command} gave no result (${end}):\n${output}`)
  return JSON.parse(result)
}
