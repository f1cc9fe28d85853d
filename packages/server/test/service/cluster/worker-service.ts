import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { freePort } from '../../../../../test/support/ports.ts'
import {
  type Cleanup,
  type Operator,
  openOperator,
  type ServiceProcess,
  startServiceProcess,
  type TestService,
} from '../../../../../test/support/service.ts'
import { readSettings, type Settings } from '../../../src/base/config.ts'

/** A service with workers, its metrics port, and its operator. */
export interface WorkerService extends ServiceProcess {
  readonly settings: Settings
  readonly operator: Operator
  /** Reads `/metrics`. */
  metrics(): Promise<string>
}

export async function startWithWorkers(
  t: Cleanup,
  count: number,
  overrides: Readonly<Record<string, string>> = {},
): Promise<WorkerService> {
  const METRICS_PORT = String(await freePort())
  const service = await startServiceProcess(t, {
    WORKERS: String(count),
    METRICS_PORT,
    ...overrides,
  })
  const settings = readSettings(service.env)
  const operator = await openOperator(settings)
  t.after(() => operator.close())
  const metrics = async () => (await fetch(`http://localhost:${METRICS_PORT}/metrics`)).text()
  return { ...service, settings, operator, metrics }
}

/** Adapts it to helpers that expect a service in the test's own process. */
export function asTestService(service: WorkerService): TestService {
  const tick = () => undefined
  return { ...service, tick, stop: async () => void (await service.stop()) }
}

/** The process ids of the workers: the children of the service's process. */
export function workersOf({ child }: ServiceProcess): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === child.pid)
    .map(Number)
}

function parentOf(pid: string): number | null {
  try {
    // The parent follows the process name, which is in parentheses and may contain spaces.
    return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1])
  } catch {
    return null
  }
}

/** Sums the samples of a metric that have the labels, by worker. */
export function byWorker(metrics: string, name: string, labels = ''): Map<string, number> {
  const found = new Map<string, number>()
  for (const line of metrics.split('\n')) {
    const [, metric, worker, rest, value] =
      /^(\w+)\{worker="(\w+)",?([^}]*)\} (.+)$/.exec(line) ?? []
    if (metric !== name || worker === undefined || !rest?.includes(labels)) continue
    found.set(worker, (found.get(worker) ?? 0) + Number(value))
  }
  return found
}

/** The number of requests that each worker has answered. */
export async function answeredBy(service: WorkerService): Promise<Map<string, number>> {
  return byWorker(await service.metrics(), 'http_request_duration_seconds_count')
}

/** Asserts that events are numbered 1, 2, 3 and so on. @returns their types */
export async function assertNoGap({ operator }: WorkerService): Promise<string[]> {
  const events = await operator.db.read
    .selectFrom('events')
    .select(['seq', 'type'])
    .orderBy('seq')
    .execute()
  assert.deepEqual(
    events.map(({ seq }) => seq),
    events.map((_, i) => i + 1),
  )
  return events.map(({ type }) => type)
}

/** Looks an agent's status up over a new connection, which may reach any worker. */
export async function statusOverNewConnection(url: string, did: string): Promise<string> {
  const { status, text } = await getOverNewConnection(`${url}/api/v1/agent/${did}`)
  if (status !== 200) return String(status)
  return (JSON.parse(text) as { certificate: { status: string } }).certificate.status
}

export function getOverNewConnection(url: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    request(url, { agent: false }, (response) => {
      let text = ''
      response.on('data', (chunk) => (text += chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      response.on('error', reject)
    })
      .on('error', reject)
      .end()
  })
}

/** Sends requests until each of `count` workers has answered one. */
export async function untilAllAnswer(service: WorkerService, count: number): Promise<void> {
  for (let tries = 0; tries < 50; tries++) {
    const asked = Array.from({ length: 4 * count }, () =>
      getOverNewConnection(`${service.url}/healthz`),
    )
    await Promise.all(asked)
    const answered = await answeredBy(service)
    if (answered.size === count) return
  }
  assert.fail('some workers answer nothing')
}
