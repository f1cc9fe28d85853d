import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BASE_ENV } from '../../../../test/support/run.ts'
import { type Cleanup, ROOT, run, tempDir } from '../../../../test/support/service.ts'
import { until } from '../../../../test/support/until.ts'

export const COMMAND = join(ROOT, 'packages/gateway/bin/countersign-gateway.mjs')

export interface GatewayProcess {
  readonly url: string
  readonly port: number
  /** The file that it runs by. */
  readonly file: string
  readonly child: ChildProcess
  /** The lines that it has logged so far. */
  logs(): Record<string, unknown>[]
  /** Waits for a line. */
  logged(fits: (line: Record<string, unknown>) => boolean): Promise<Record<string, unknown>>
  /** @returns the exit code, null where a signal ended it */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

/** With patience for a service on a busy machine. */
const DEFAULTS = { port: 0, drainSeconds: 0, timeoutMs: 30_000 }

type Test = Cleanup

/** Starts countersign-gateway on a free port, by a file of its own. */
export async function startGateway(
  t: Test,
  settings: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string>> = {},
): Promise<GatewayProcess> {
  const file = join(tempDir(t), 'gateway.json')
  writeFileSync(file, JSON.stringify({ ...DEFAULTS, ...settings }))
  const child = spawn(process.execPath, [COMMAND, '--config', file], {
    env: { ...BASE_ENV, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk) => (output += chunk))
  child.stderr.on('data', (chunk) => (errors += chunk))
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const logs = () =>
    output
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  const logged = async (fits: (line: Record<string, unknown>) => boolean) => {
    await until(async () => logs().some(fits) || hasEnded(child))
    const line = logs().find(fits)
    if (line === undefined) throw new Error(`countersign-gateway ended:\n${output}${errors}`)
    return line
  }
  const stop = (signal: NodeJS.Signals = 'SIGTERM') => {
    if (!hasEnded(child)) child.kill(signal)
    return exited
  }
  t.after(() => stop('SIGKILL'))
  const { port } = await logged(({ event }) => event === 'listening')
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    port: Number(port),
    file,
    child,
    logs,
    logged,
    stop,
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

/** Runs the command to its end. */
export function runGatewayCommand(...args: string[]) {
  return run(process.execPath, [COMMAND, ...args])
}
