import { mkdirSync } from 'node:fs'
import type { Logger } from 'pino'
import { Counter, collectDefaultMetrics, Gauge, Registry as Metrics } from 'prom-client'
import {
  type RunningProvider,
  startDevelopmentProvider,
} from '../../accounts/providers/development/index.ts'
import { logProviders, openProviders } from '../../accounts/providers/load-providers.ts'
import type { Settings } from '../../base/config.ts'
import { openDatabase } from '../../database/open-database.ts'
import { assertSameBaseUrl } from '../../database/same-base-url.ts'
import { lockDatabase } from '../../database/sqlite/process-lock.ts'
import { ensureIssuerKey } from '../../secrets/issuer-keys/rotation.ts'
import { loadPepper } from '../../secrets/secrets.ts'
import { openServiceKey, SERVICE_KEY_PURPOSES } from '../../secrets/service-keys.ts'
import { EFFECTS } from '../effects.ts'
import { listenForMetrics } from '../metrics-port.ts'
import type { Service } from '../service.ts'
import { WorkerPool } from './worker-pool.ts'

/**
 * Starts the service as several worker processes on one port. This process, the primary, locks and migrates the data,
 * creates the secrets, serves `/metrics`, orders the workers' writes, and stops them.
 * @throws what startService throws, and WorkerFailedError. On any error, everything that was opened is closed
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
  const shared = new SharedProviders(settings.baseUrl)
  resources.defer(() => shared.close())
  const startProvider = (id: string) => shared.start(id)
  const providers = await openProviders(settings, process.env, startProvider)
  await prepareData(settings, resources)
  const workers = new WorkerPool(log, startProvider)
  await listenForMetrics(settings, primaryMetrics(workers), log, resources)
  // On every exit but kill -9, after which the workers find their IPC channel closed and exit too.
  const killAll = () => workers.killAll()
  process.on('exit', killAll)
  resources.defer(() => void process.off('exit', killAll))
  const address = await workers.start(settings.workers)
  resources.defer(() => workers.stop())
  logProviders(providers, log)
  return { address, damaged: new Promise(() => undefined), stop: () => resources.disposeAsync() }
}

/** Locks, migrates and checks the data, and creates the secrets, once for all workers. */
async function prepareData(settings: Settings, resources: AsyncDisposableStack): Promise<void> {
  const { dataDir, database } = settings
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  if (database.kind === 'sqlite') resources.defer(lockDatabase(database.file))
  loadPepper(settings)
  const db = await openDatabase(database, Date.now, EFFECTS)
  try {
    await db.check()
    await assertSameBaseUrl(db, settings.baseUrl)
    for (const purpose of SERVICE_KEY_PURPOSES)
      await openServiceKey({ db, folders: settings }, purpose)
    await ensureIssuerKey({ db, folders: settings, now: Date.now })
  } finally {
    await db.close()
  }
}

/** @returns renders the metrics of the primary and of all workers */
function primaryMetrics(workers: WorkerPool): () => Promise<string> {
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
 * Runs the development identity providers for all workers. A provider keeps its flows in memory, and the browser may
 * return to another worker, so there must be only one of each.
 */
class SharedProviders {
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
