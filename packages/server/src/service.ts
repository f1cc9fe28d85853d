import { mkdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { CHANNEL_KINDS } from './adapters/channels/kinds.ts'
import type { StartProvider } from './adapters/development-providers/index.ts'
import { selfTestEd25519 } from './adapters/ed25519.ts'
import type { Env } from './adapters/identity-providers/secret.ts'
import { openPerspectives } from './adapters/outside/open-perspectives.ts'
import { loadPepper } from './adapters/secrets.ts'
import { appDeps, type State } from './app-deps.ts'
import type { Settings } from './config.ts'
import { DueChecks } from './domain/channels/recheck-due.ts'
import { requireSamePepper } from './domain/same-pepper.ts'
import { gaugesOf } from './gauges.ts'
import { createApp } from './http/app.ts'
import { Listeners } from './http/listeners.ts'
import { metricsOf } from './http/metrics/metrics-server.ts'
import { RequestMetrics } from './http/metrics/request-metrics.ts'
import { Overload } from './http/overload/overload.ts'
import { openProviders, tellOfProviders } from './identity-providers.ts'
import { listenForMetrics } from './metrics-port.ts'
import { openRateLimits } from './rate-limits.ts'
import { openReadModel } from './read-model.ts'
import { openDatabase } from './storage/open-database.ts'
import { lockDatabase } from './storage/process-lock.ts'
import type { WriterTurn } from './storage/writer-turn.ts'
import { REAL_TIMING, startTimers, type Timing } from './timers.ts'
import { VERSION } from './version.ts'

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
  const outside = { kinds: CHANNEL_KINDS, perspectives: perspectives.all }
  mkdirSync(settings.dataDir, { recursive: true, mode: 0o700 })
  if (primary === null && settings.database.kind === 'sqlite')
    resources.defer(lockDatabase(settings.database.file))
  const db = await openDatabase(settings.database, now, primary?.turn)
  resources.defer(() => db.close())
  if (primary === null) await db.check()
  await requireSamePepper({ db, pepper: loadPepper(settings.dataDir) })
  const registry = await openReadModel(settings, db, timing.elapsed, resources)

  const state: State = { phase: 'starting', listeners: new Listeners() }
  const metrics = new RequestMetrics()
  const overload = new Overload()
  const limiter = await openRateLimits({ settings, log, db, now }, resources)
  const parts = { db, registry, metrics, overload, limiter, state, providers, outside, now }
  const deps = appDeps(settings, log, parts)
  const app = await createApp(deps)
  const checks = new DueChecks(deps.owners, (err) => log.error({ err }, 'a check failed'))
  const gauges = gaugesOf(settings, { db, registry, overload, limiter, state, now, checks })
  const text = metricsOf(metrics, gauges)
  if (primary === null) await listenForMetrics(settings, text, log, resources)
  else primary.takeMetrics(text)
  startTimers({ db, registry, now, checks, every: timing.every }, log, resources)
  resources.defer(() => state.listeners.close(app))
  // Before the listeners: requests that wait for the outside world would hold the listeners up.
  resources.defer(() => perspectives.close())
  // And before that: a check that is given up is to be made again, not to have found nobody there.
  resources.defer(() => checks.stop())
  if (primary?.othersServe) await registry.load()
  const address = await state.listeners.listen(app, settings.host, settings.port)
  if (!primary?.othersServe) await registry.load()
  await primary?.allReady(address)
  state.phase = 'ready'
  if (primary === null) tellOfProviders(providers, log)

  return {
    address,
    async stop() {
      state.phase = 'draining'
      await sleep(settings.drainSeconds * 1000)
      await resources.disposeAsync()
    },
  }
}
