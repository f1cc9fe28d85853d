import { spawn } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './ports.ts'
import { type Cleanup, ROOT, tempDir } from './service.ts'

export interface Sample {
  readonly metric: Readonly<Record<string, string>>
  /** The time, and the value as text. */
  readonly value: readonly [number, string]
}

export interface Prometheus {
  query(expression: string): Promise<Sample[]>
  /** The loaded alerting rules, each with its health and last error. */
  alarms(): Promise<{ name: string; health: string; lastError?: string }[]>
}

/** Starts Prometheus with the files of deploy/prometheus, changing only the address and the interval. */
export async function startPrometheus(t: Cleanup, metricsPort: string): Promise<Prometheus> {
  const dir = tempDir(t)
  cpSync(join(ROOT, 'deploy/prometheus'), dir, { recursive: true })
  const config = join(dir, 'prometheus.yml')
  const text = readFileSync(config, 'utf8')
    .replace('localhost:9464', `localhost:${metricsPort}`)
    .replaceAll('15s', '1s')
  writeFileSync(config, text)
  const port = await freePort('127.0.0.1')
  const child = spawn(
    'prometheus',
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(dir, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let output = ''
  child.stderr.on('data', (chunk) => (output += chunk))
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  t.after(() => {
    child.kill('SIGKILL')
    return exited
  })
  const ask = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`)
    const body = (await response.json()) as { status: string; error?: string; data: never }
    if (body.status !== 'success') throw new Error(`${path}: ${body.error}`)
    return body.data as Record<string, unknown>
  }
  for (let tries = 0; ; tries++) {
    const ready = await fetch(`http://127.0.0.1:${port}/-/ready`).catch(() => null)
    if (ready?.ok) break
    if (tries > 1200 || child.exitCode !== null) throw new Error(`no Prometheus:\n${output}`)
    await sleep(50)
  }
  return {
    query: async (expression) =>
      (await ask(`query?query=${encodeURIComponent(expression)}`)).result as Sample[],
    alarms: async () =>
      ((await ask('rules')).groups as { rules: never[] }[]).flatMap((g) => g.rules),
  }
}
