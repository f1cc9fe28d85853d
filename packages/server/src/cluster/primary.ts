import { mkdirSync } from 'node:fs'
import type { Logger } from 'pino'
import type { Settings } from '../config/config.ts'
import { loadPepper } from '../core/crypto/secrets.ts'
import { openDatabase } from '../core/database/open-database.ts'
import { lockDatabase } from '../core/database/sqlite/process-lock.ts'
import { openProviders, tellOfProviders } from '../providers/open-providers.ts'
import { listenForMetrics } from '../service/metrics-port.ts'
import type { Service } from '../service/service.ts'
import { primaryMetrics } from './primary-metrics.ts'
import { ProviderHost } from './provider-host.ts'
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
  tellOfProviders(providers, log)
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
