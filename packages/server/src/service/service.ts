import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { assertSamePepper } from '../accounts/identity/pepper-check.ts'
import type { StartProvider } from '../accounts/providers/development/index.ts'
import { logProviders, openProviders } from '../accounts/providers/load-providers.ts'
import { providerLabelsOf } from '../accounts/providers/providers.ts'
import { databaseReporter } from '../agents/read-model/describe-read-model.ts'
import { openReadModel } from '../agents/read-model/open-read-model.ts'
import type { Env, Settings } from '../base/config.ts'
import { releaseNewSpace } from '../base/new-space.ts'
import { siteOf } from '../base/site.ts'
import { VERSION } from '../base/version.ts'
import { CHANNEL_KINDS } from '../channels/kinds/kinds.ts'
import { runDueJobs } from '../database/jobs/run-jobs.ts'
import { openDatabase } from '../database/open-database.ts'
import { assertSameBaseUrl } from '../database/same-base-url.ts'
import { CheckedFile } from '../database/sqlite/checked-file.ts'
import { lockDatabase } from '../database/sqlite/process-lock.ts'
import { DamagedFileError } from '../database/sqlite/sqlite-damage.ts'
import type { WriterTurn } from '../database/sqlite/writer-turn.ts'
import { connectionLimit, trustedProxies } from '../http/connection-limit.ts'
import { LoadShedder } from '../http/limits/concurrency-limiter.ts'
import { openRateLimiter } from '../http/limits/open-rate-limiter.ts'
import { Listeners } from '../http/listeners.ts'
import { RequestMetrics } from '../http/metrics/request-metrics.ts'
import { describeLimits, type Phase } from '../http/metrics/service-metrics.ts'
import { openPerspectives } from '../http/outbound/fetch-page.ts'
import { openSender } from '../http/outbound/open-sender.ts'
import { type PartTimer, WORK_MS } from '../http/part.ts'
import { loadPages } from '../pages/load-pages.ts'
import { Ed25519Verifier, selfTestEd25519 } from '../secrets/ed25519.ts'
import { loadPepper } from '../secrets/secrets.ts'
import { createApp } from './app.ts'
import { EFFECTS } from './effects.ts'
import { listenForMetrics, metricsText } from './metrics-port.ts'
import { jobHandlersOf, OpenedParts, openParts } from './parts.ts'
import { REAL_TIMING, startTimers, type Timing } from './timers.ts'

interface ServiceState {
  phase: Phase
  readonly listeners: Listeners
}

export interface Service {
  /** The address of the first listener. */
  readonly address: string
  /** Reports not ready, waits DRAIN_SECONDS for load balancers to notice, then closes all connections and resources. */
  stop(): Promise<void>
  /** Resolves if a check beside the answers has found that the database file is damaged. */
  readonly damaged: Promise<Error>
}

/** What a worker of a cluster leaves to its primary process. */
export interface Primary {
  /** Decides which worker may write. */
  readonly writerTurn: WriterTurn
  readonly startDevelopmentProvider: StartProvider
  /** Whether this worker replaces one that ended. Others serve meanwhile, so it loads the read model before it listens. */
  readonly isReplacement: boolean
  /** @param text renders this worker's metrics */
  publishMetrics(text: () => Promise<string>): void
  /** Reports the address this worker listens at. Resolves once all workers are ready. */
  reportReady(address: string): Promise<void>
}

/**
 * Starts the service: tests the cryptography, checks and opens the data, listens.
 * @param env holds the secrets that the settings of identity providers refer to
 * @param now the clock, in milliseconds since 1970
 * @param primary null if this process is the whole service. A primary has already locked and checked the data, and serves
 *   the metrics
 * @param timing intervals and the monotonic clock; tests pass their own
 * @throws SettingsError, AlreadyServedError, NewerSchemaError, UnreleasedSchemaError, OtherPepperError, OtherServiceKeyError, OtherIssuerKeyError, OtherBaseUrlError; Error if the self-test or the check of the
 *   database file fails. On any error, everything that was opened is closed
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

interface StartOptions {
  readonly settings: Settings
  readonly log: Logger
  readonly env: Env
  readonly now: () => number
  readonly primary: Primary | null
  readonly timing: Timing
}

/** @param resources collects what to close, in reverse order */
async function start(
  { settings, log, env, now, primary, timing }: StartOptions,
  resources: AsyncDisposableStack,
): Promise<Service> {
  selfTestEd25519()
  const { baseUrl, naming, serviceName, dataDir } = settings
  const providers = await openProviders(settings, env, primary?.startDevelopmentProvider)
  resources.defer(() => providers.close())
  const userAgent = `Countersign/${VERSION} (+${baseUrl.origin})`
  const perspectives = openPerspectives(settings, userAgent)
  const sender = openSender(settings, userAgent)
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  if (primary === null && settings.database.kind === 'sqlite')
    resources.defer(lockDatabase(settings.database.file))
  const checked = checkedFile(settings, primary)
  resources.defer(() => checked?.close())
  const db = await openDatabase(settings.database, now, EFFECTS, primary?.writerTurn)
  resources.defer(() => db.close())
  if (primary === null && !checked?.mayWait) {
    await db.check()
    checked?.recordIntact()
  }
  const pepper = loadPepper(settings)
  await assertSamePepper({ db, pepper })
  await assertSameBaseUrl(db, baseUrl)
  const readModel = await openReadModel(settings, db, timing.elapsed, resources)

  const site = siteOf(naming, baseUrl, providerLabelsOf(providers), CHANNEL_KINDS)
  const state: ServiceState = { phase: 'starting', listeners: new Listeners() }
  const isReady = () => state.phase === 'ready'
  const metrics = new RequestMetrics()
  const loadShedder = new LoadShedder(trustedProxies(settings.trustedProxies))
  const rateLimiter = await openRateLimiter({ settings, log, db, now }, resources)
  const pages = await loadPages({ serviceName, site })
  const deps = {
    settings,
    log,
    db,
    site,
    serviceName,
    pepper,
    now,
    elapsed: timing.elapsed,
    randomBytes,
    ed25519: new Ed25519Verifier(),
    sender,
    metrics,
    isReady,
    resources,
    providers,
    readModel,
    channelSources: { kinds: CHANNEL_KINDS, perspectives: perspectives.all },
    pages,
    rateLimiter,
    previewLimiter: loadShedder.limiters.previews,
  }
  const opened = new OpenedParts()
  resources.use(opened)
  const parts = await openParts(deps, opened, {
    gauges: (registrar) => describeLimits(registrar, loadShedder, rateLimiter),
  })
  const app = await createApp({
    log,
    parts,
    pages,
    isReady,
    isFresh: () => readModel.isFresh,
    isDraining: () => state.phase === 'draining',
    reportDatabase: databaseReporter(db, readModel),
    onServer: (server, createAnother) => state.listeners.addServer(server, createAnother),
    metrics,
    limitConnections: connectionLimit({
      perAddress: settings.maxConnectionsPerAddress,
      isTrustedProxy: trustedProxies(settings.trustedProxies),
    }),
    loadShedder,
    rateLimiter,
    trustedProxies: settings.trustedProxies,
  })
  const text = metricsText({ ...deps, phase: () => state.phase }, parts)
  if (primary === null) await listenForMetrics(settings, text, log, resources)
  else primary.publishMetrics(text)
  const jobs = {
    db,
    handlers: jobHandlersOf(parts),
    now,
    onFailure: (err: unknown) => log.error({ err }, 'a job failed'),
  }
  const runJobs: PartTimer = {
    everyMs: WORK_MS,
    run: (stopping) => runDueJobs(jobs, () => !stopping.aborted),
    failure: 'a job failed',
  }
  // Jobs come last, so that a warning precedes what it warns of.
  const timers = [...parts.flatMap((part) => part.timers ?? []), runJobs]
  startTimers({ db, readModel, log, every: timing.every }, timers, resources)
  resources.defer(() => state.listeners.close(app))
  // Disposed before the listeners, which wait for requests, some of which wait for the network.
  resources.defer(() => perspectives.close())
  resources.defer(() => sender.close())
  resources.defer(() => opened[Symbol.asyncDispose]())
  releaseNewSpace()
  if (primary?.isReplacement) await readModel.load()
  const address = await state.listeners.listen(app, settings.host, settings.port)
  if (!primary?.isReplacement) await readModel.load()
  await primary?.reportReady(address)
  state.phase = 'ready'
  if (primary === null) logProviders(providers, log)
  const damaged = damageIn(checked, log, resources)

  return {
    address,
    damaged,
    async stop() {
      state.phase = 'draining'
      await sleep(settings.drainSeconds * 1000)
      await resources.disposeAsync()
    },
  }
}

/** Null without a file, and for a worker, whose primary checks it. */
function checkedFile({ database }: Settings, primary: Primary | null): CheckedFile | null {
  return primary === null && database.kind === 'sqlite' ? new CheckedFile(database.file) : null
}

/** Checks a file that was not checked before the first answer. */
async function damageIn(
  checked: CheckedFile | null,
  log: Logger,
  resources: AsyncDisposableStack,
): Promise<Error> {
  const { promise: damaged, resolve } = Promise.withResolvers<Error>()
  if (!checked?.mayWait) return damaged
  const stopping = new AbortController()
  const checking = checked.checkInThread(stopping.signal).then(
    (isFinished) => void (isFinished && log.info('The database file has no fault.')),
    (err: unknown) => {
      if (err instanceof DamagedFileError) resolve(err)
      else log.error({ err }, 'the database file cannot be checked')
    },
  )
  resources.defer(() => {
    stopping.abort()
    return checking
  })
  return damaged
}
