import { mkdirSync } from 'node:fs'
import type { Logger } from 'pino'
import { Counter, collectDefaultMetrics, Gauge, Registry as Metrics } from 'prom-client'
import type { Settings } from '../config/config.ts'
import { loadPepper } from '../core/crypto/secrets.ts'
import { openDatabase } from '../core/database/open-database.ts'
import { lockDatabase } from '../core/database/sqlite/process-lock.ts'
import { type RunningProvider, startDevelopmentProvider } from '../providers/development/index.ts'
import { logProviders, openProviders } from '../providers/load-providers.ts'
import { listenForMetrics } from '../service/metrics-port.ts'
import type { Service } from '../service/service.ts'
import { Workers } from './workers.ts'

/**
 * Starts the service as several processes on one port, each of which is a whole service but for what it leaves to
 * this one: the lock on the data, the schema, secrets, `/metrics`, whose turn it is to write, and the end.
 * @throws as startService does, and WorkerFailedError; then nothing is left open
 */
export async function startWorkers(settings: Settings, log: Logger): Promise<Service> {
  const resources = new AsyncDisposableStack()
  try {
    return await start(settings, log, resources)
  } catch (error) {
    await resources.disposeAsync()
    throw error
  }
}

async function start(
  settings: Settings,
  log: Logger,
  resources: AsyncDisposableStack,
): Promise<Service> {
  const host = new ProviderHost(settings.baseUrl)
  resources.defer(() => host.close())
  const start = (id: string) => host.start(id)
  const providers = await openProviders(settings, process.env, start)
  await prepareData(settings, resources)
  const workers = new Workers(log, start)
  await listenForMetrics(settings, primaryMetrics(workers), log, resources)
  // However this process ends, short of kill -9: then the workers find their channel closed, and end as well.
  const killAll = () => workers.killAll()
  process.on('exit', killAll)
  resources.defer(() => void process.off('exit', killAll))
  const address = await workers.start(settings.workers)
  resources.defer(() => workers.stop())
  logProviders(providers, log)
  return { address, stop: () => resources.disposeAsync() }
}

/** What a first start makes and every start checks, once for all workers. */
async function prepareData(settings: Settings, resources: AsyncDisposableStack): Promise<void> {
  const { dataDir, database } = settings
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  if (database.kind === 'sqlite') resources.defer(lockDatabase(database.file))
  loadPepper(dataDir)
  const db = await openDatabase(database, Date.now)
  try {
    await db.check()
  } finally {
    await db.close()
  }
}

/** What `/metrics` says where there are workers: what each says of itself, and the primary of itself and of them. */
function primaryMetrics(workers: Workers): () => Promise<string> {
  const metrics = new Metrics()
  collectDefaultMetrics({ register: metrics })
  new Gauge({
    name: 'countersign_workers_ready',
    help: 'Workers that serve',
    registers: [metrics],
    collect() {
      this.set(workers.ready)
    },
  })
  new Counter({
    name: 'countersign_worker_restarts_total',
    help: 'Times that a worker was started in the place of one that had ended',
    registers: [metrics],
    collect() {
      this.reset()
      this.inc(workers.restarts)
    },
  })
  return async () => workers.metrics(await metrics.metrics())
}

/**
 * The providers for development of all workers. What is begun at a provider is in its memory, and the browser comes
 * back to whichever worker: so there is one of each, here.
 */
class ProviderHost {
  readonly #baseUrl: URL
  readonly #running = new Map<string, Promise<RunningProvider>>()

  constructor(baseUrl: URL) {
    this.#baseUrl = baseUrl
  }

  start(id: string): Promise<RunningProvider> {
    let running = this.#running.get(id)
    if (running === undefined) {
      running = startDevelopmentProvider(id, this.#baseUrl)
      this.#running.set(id, running)
    }
    return running
  }

  async close(): Promise<void> {
    for (const started of await Promise.allSettled(this.#running.values()))
      if (started.status === 'fulfilled') await started.value.close()
  }
}
