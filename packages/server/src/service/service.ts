import { mkdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { openReadModel } from '../agents/read-model/open-read-model.ts'
import { CHANNEL_KINDS } from '../channels/kinds/kinds.ts'
import { DueChecks } from '../channels/recheck-due.ts'
import type { Settings } from '../config/config.ts'
import { VERSION } from '../config/version.ts'
import { selfTestEd25519 } from '../core/crypto/ed25519.ts'
import { loadPepper } from '../core/crypto/secrets.ts'
import { openDatabase } from '../core/database/open-database.ts'
import { lockDatabase } from '../core/database/sqlite/process-lock.ts'
import type { WriterTurn } from '../core/database/sqlite/writer-turn.ts'
import { Listeners } from '../core/http/listeners.ts'
import { Overload } from '../core/limits/concurrency.ts'
import { openRateLimits } from '../core/limits/open-rate-limits.ts'
import { metricsOf } from '../core/metrics/metrics-server.ts'
import { RequestMetrics } from '../core/metrics/request-metrics.ts'
import { openPerspectives } from '../core/network/open-perspectives.ts'
import { assertSamePepper } from '../identity/pepper-check.ts'
import type { StartProvider } from '../providers/development/index.ts'
import { logProviders, openProviders } from '../providers/load-providers.ts'
import type { Env } from '../providers/secret-reference.ts'
import { createApp } from './app.ts'
import { appDeps, type State } from './app-deps.ts'
import { gaugesOf } from './gauges.ts'
import { listenForMetrics } from './metrics-port.ts'
import { REAL_TIMING, startTimers, type Timing } from './timers.ts'

export interface Service {
  /** Where it listens. */
  readonly address: string
  /** Readiness off, a moment for balancers to notice, then no new connections, then the end. */
  stop(): Promise<void>
}

/** What a service leaves to the process that has started it, where several are one service to the world. */
export interface Primary {
  /** When this one may write. */
  readonly turn: WriterTurn
  readonly startDevelopment: StartProvider
  /** Whether others serve already, so that there is time to make ready before the first connection. */
  readonly othersServe: boolean
  /** Takes what `/metrics` is to say of this process. */
  takeMetrics(text: () => Promise<string>): void
  /** Says where this one listens. Resolves once all are ready. */
  allReady(address: string): Promise<void>
}

/**
 * Starts the service: checks that cryptography and data are sound, opens both, listens.
 * @param env where secrets are that the settings of identity providers name
 * @param now the clock, in milliseconds since 1970: tests move it
 * @param primary null where this process is the whole service. One that is not has found the data sound, holds them
 *   against other services, and serves the metrics
 * @throws SettingsError, AlreadyServedError, NewerSchemaError, OtherPepperError, Error where the self-test or the check of the file
 *   fails; then nothing is left open
 */
export async function startService(
  settings: Settings,
  log: Logger,
  env: Env = process.env,
  now: () => number = Date.now,
  primary: Primary | null = null,
  timing: Timing = REAL_TIMING,
): Promise<Service> {
  const resources = new AsyncDisposableStack()
  try {
    return await start({ settings, log, env, now, primary, timing }, resources)
  } catch (error) {
    await resources.disposeAsync()
    throw error
  }
}

interface Given {
  readonly settings: Settings
  readonly log: Logger
  readonly env: Env
  readonly now: () => number
  readonly primary: Primary | null
  readonly timing: Timing
}

/** @param resources closes what has been opened, the last first */
async function start(
  { settings, log, env, now, primary, timing }: Given,
  resources: AsyncDisposableStack,
): Promise<Service> {
  selfTestEd25519()
  const providers = await openProviders(settings, env, primary?.startDevelopment)
  resources.defer(() => providers.close())
  const userAgent = `Countersign/${VERSION} (+${settings.baseUrl.origin})`
  const perspectives = openPerspectives(settings, userAgent)
  const channelSources = { kinds: CHANNEL_KINDS, perspectives: perspectives.all }
  mkdirSync(settings.dataDir, { recursive: true, mode: 0o700 })
  if (primary === null && settings.database.kind === 'sqlite')
    resources.defer(lockDatabase(settings.database.file))
  const db = await openDatabase(settings.database, now, primary?.turn)
  resources.defer(() => db.close())
  if (primary === null) await db.check()
  await assertSamePepper({ db, pepper: loadPepper(settings.dataDir) })
  const readModel = await openReadModel(settings, db, timing.elapsed, resources)

  const state: State = { phase: 'starting', listeners: new Listeners() }
  const metrics = new RequestMetrics()
  const overload = new Overload()
  const limiter = await openRateLimits({ settings, log, db, now }, resources)
  const parts = { db, readModel, metrics, overload, limiter, state, providers, channelSources, now }
  const deps = appDeps(settings, log, parts)
  const app = await createApp(deps)
  const checks = new DueChecks(deps.owners, (err) => log.error({ err }, 'a check failed'))
  const gauges = gaugesOf(settings, { db, readModel, overload, limiter, state, now, checks })
  const text = metricsOf(metrics, gauges)
  if (primary === null) await listenForMetrics(settings, text, log, resources)
  else primary.takeMetrics(text)
  startTimers({ db, readModel, now, checks, every: timing.every }, log, resources)
  resources.defer(() => state.listeners.close(app))
  // Before the listeners: requests that wait for the channelSources world would hold the listeners up.
  resources.defer(() => perspectives.close())
  // And before that: a check that is given up is to be made again, not to have found nobody there.
  resources.defer(() => checks.stop())
  if (primary?.othersServe) await readModel.load()
  const address = await state.listeners.listen(app, settings.host, settings.port)
  if (!primary?.othersServe) await readModel.load()
  await primary?.allReady(address)
  state.phase = 'ready'
  if (primary === null) logProviders(providers, log)

  return {
    address,
    async stop() {
      state.phase = 'draining'
      await sleep(settings.drainSeconds * 1000)
      await resources.disposeAsync()
    },
  }
}
