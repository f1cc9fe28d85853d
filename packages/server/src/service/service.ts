import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { assertSamePepper } from '../accounts/identity/pepper-check.ts'
import { DueEmails } from '../accounts/notifications/send-due-emails.ts'
import { smtpMailer } from '../accounts/notifications/smtp-mailer.ts'
import { ExpiryWarnings } from '../accounts/notifications/warn-of-expiry.ts'
import type { OwnersPart } from '../accounts/owners/owner-routes.ts'
import type { StartProvider } from '../accounts/providers/development/index.ts'
import { logProviders, openProviders } from '../accounts/providers/load-providers.ts'
import { providerLabelsOf } from '../accounts/providers/providers.ts'
import { openReadModel } from '../agents/read-model/open-read-model.ts'
import type { Env, Settings } from '../base/config.ts'
import { siteOf } from '../base/site.ts'
import { VERSION } from '../base/version.ts'
import { CHANNEL_KINDS } from '../channels/kinds/kinds.ts'
import { DueChecks } from '../channels/recheck-due.ts'
import type { Database } from '../database/database.ts'
import { runDueJobs } from '../database/jobs/run-jobs.ts'
import { openDatabase } from '../database/open-database.ts'
import { assertSameBaseUrl } from '../database/same-base-url.ts'
import { lockDatabase } from '../database/sqlite/process-lock.ts'
import type { WriterTurn } from '../database/sqlite/writer-turn.ts'
import { LoadShedder } from '../http/limits/concurrency-limiter.ts'
import { openRateLimiter } from '../http/limits/open-rate-limiter.ts'
import { Listeners } from '../http/listeners.ts'
import { metricsOf } from '../http/metrics/metrics-server.ts'
import { RequestMetrics } from '../http/metrics/request-metrics.ts'
import { openPerspectives } from '../http/outbound/fetch-page.ts'
import { openSender } from '../http/outbound/open-sender.ts'
import { type PartTimer, WORK_MS } from '../http/part.ts'
import { trustedProxies } from '../http/trusted-proxies.ts'
import { openCosigning } from '../log/cosigning/part.ts'
import { TransparencyLog } from '../log/transparency-log.ts'
import { LogWitnesses } from '../log/witnesses/log-witnesses.ts'
import { readWitnesses } from '../log/witnesses/witness-policy.ts'
import { selfTestEd25519 } from '../secrets/ed25519.ts'
import { IssuerKeyRing } from '../secrets/issuer-keys/issuer-keys.ts'
import { loadPepper } from '../secrets/secrets.ts'
import { openDerivedServiceKeys, openServiceKey } from '../secrets/service-keys.ts'
import { openStatus } from '../statements/status-lists/open-status.ts'
import { HEAD_INTERVAL_MS } from '../statements/status-lists/status-feed.ts'
import { openWebhooks } from '../webhooks/part.ts'
import { type AppDeps, createApp } from './app.ts'
import { appDeps, type ServiceState } from './app-deps.ts'
import { EFFECTS } from './effects.ts'
import { gaugesOf } from './gauges.ts'
import { JOB_HANDLERS } from './job-handlers.ts'
import { listenForMetrics } from './metrics-port.ts'
import { jobHandlersOf, OpenedParts } from './parts.ts'
import { REAL_TIMING, startTimers, type Timing } from './timers.ts'

/** How often to look for changes to log: a checkpoint is at most a second old while there is something new. */
const LOG_MS = 500

export interface Service {
  /** The address of the first listener. */
  readonly address: string
  /** Reports not ready, waits DRAIN_SECONDS for load balancers to notice, then closes all connections and resources. */
  stop(): Promise<void>
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
  const witnessPolicy = readWitnesses(settings)
  const providers = await openProviders(settings, env, primary?.startDevelopmentProvider)
  resources.defer(() => providers.close())
  const userAgent = `Countersign/${VERSION} (+${settings.baseUrl.origin})`
  const perspectives = openPerspectives(settings, userAgent)
  const sender = openSender(settings, userAgent)
  const channelSources = { kinds: CHANNEL_KINDS, perspectives: perspectives.all }
  mkdirSync(settings.dataDir, { recursive: true, mode: 0o700 })
  if (primary === null && settings.database.kind === 'sqlite')
    resources.defer(lockDatabase(settings.database.file))
  const db = await openDatabase(settings.database, now, EFFECTS, primary?.writerTurn)
  resources.defer(() => db.close())
  if (primary === null) await db.check()
  await assertSamePepper({ db, pepper: loadPepper(settings.dataDir) })
  await assertSameBaseUrl(db, settings.baseUrl)
  const directoryKey = await openServiceKey({ db, dataDir: settings.dataDir }, 'directory')
  const a2aKeys = await openDerivedServiceKeys({ db, dataDir: settings.dataDir }, 'a2a')
  const issuerKeys = await IssuerKeyRing.open({
    ...{ db, dataDir: settings.dataDir, now, elapsed: timing.elapsed },
    certificateLifetimeMs: settings.certificateLifetimeMs,
  })
  const { requireWitness: isRequired } = settings
  const logWitnesses =
    witnessPolicy && new LogWitnesses({ db, policy: witnessPolicy, isRequired, sender, now })
  const transparencyLog = await openLog(settings, db, now, logWitnesses)
  const readModel = await openReadModel(settings, db, timing.elapsed, resources)
  const status = await openStatus({
    ...{ db, readModel, issuerKeys, now, baseUrl: settings.baseUrl.origin },
    onError: (err) => log.error({ err }, 'the status lists cannot be loaded'),
  })
  resources.defer(() => status.state.stop())

  const { baseUrl, naming, serviceName, dataDir } = settings
  const providerLabels = providerLabelsOf(providers)
  const site = siteOf(naming, baseUrl, providerLabels, CHANNEL_KINDS)
  const context = {
    settings,
    log,
    db,
    site,
    serviceName,
    pepper: loadPepper(dataDir),
    readModel,
    sender,
    now,
    randomBytes,
  }
  const opening = new OpenedParts()
  resources.use(opening)
  const webhooks = await opening.open(openWebhooks(context))
  const cosigning = await opening.open(openCosigning(context))
  const opened: readonly OwnersPart[] = [webhooks, cosigning]

  const state: ServiceState = { phase: 'starting', listeners: new Listeners() }
  const metrics = new RequestMetrics()
  const loadShedder = new LoadShedder(trustedProxies(settings.trustedProxies))
  const rateLimiter = await openRateLimiter({ settings, log, db, now }, resources)
  const parts = {
    db,
    readModel,
    metrics,
    loadShedder,
    rateLimiter,
    state,
    providers,
    channelSources,
    directoryKey,
    a2aKeys,
    sender,
    issuerKeys,
    status,
    transparencyLog,
    logWitnesses,
    opened,
    now,
  }
  const deps = appDeps(settings, log, parts)
  const app = await createApp(deps)
  const checks = new DueChecks(deps.owners, (err) => log.error({ err }, 'a check failed'))
  const emails = openEmails(settings, log, deps)
  const warnings = new ExpiryWarnings({ db, now }, (err) => log.error({ err }, 'warnings failed'))
  const gauges = gaugesOf(settings, {
    ...{ db, readModel, status, loadShedder, rateLimiter, state, now, checks },
    ...{ emails, transparencyLog, logWitnesses },
  })
  const text = metricsOf(metrics, gauges, { webhooks, cosigning })
  if (primary === null) await listenForMetrics(settings, text, log, resources)
  else primary.publishMetrics(text)
  const handlers = { ...JOB_HANDLERS, ...jobHandlersOf(opened) }
  const onFailure = (err: unknown) => log.error({ err }, 'a job failed')
  const timers: PartTimer[] = [
    // First, so that a warning precedes what it warns of.
    { everyMs: WORK_MS, run: async () => warnings.run(), failure: 'warnings failed' },
    {
      everyMs: WORK_MS,
      run: (stopping) => runDueJobs({ db, handlers, now, onFailure }, () => !stopping.aborted),
      failure: 'a job failed',
    },
    {
      everyMs: WORK_MS,
      run: () => issuerKeys.refresh(),
      failure: 'the state of the issuer keys cannot be read',
    },
    { everyMs: WORK_MS, run: () => checks.run(), failure: 'a check failed' },
    { everyMs: WORK_MS, run: async () => emails?.run(), failure: 'an e-mail was not sent' },
    { everyMs: HEAD_INTERVAL_MS, run: () => status.feed.tick(), failure: 'no head was signed' },
    {
      everyMs: LOG_MS,
      run: (stopping) => transparencyLog.run(stopping),
      failure: 'the transparency log cannot go on',
    },
    // Apart from the log: it goes on while a witness takes its time.
    {
      everyMs: WORK_MS,
      run: async (stopping) => logWitnesses?.run(transparencyLog, stopping),
      failure: 'the witnesses cannot be asked',
    },
    ...opened.flatMap((part) => part.timers ?? []),
  ]
  startTimers({ db, readModel, log, every: timing.every }, timers, resources)
  resources.defer(() => state.listeners.close(app))
  // Disposed before the listeners, which wait for requests, some of which wait for the network.
  resources.defer(() => perspectives.close())
  resources.defer(() => sender.close())
  // Disposed before the perspectives: an aborted check is repeated later, while a lost network would count as a failed check.
  resources.defer(() => checks.stop())
  resources.defer(() => emails?.stop())
  resources.defer(() => opening[Symbol.asyncDispose]())
  if (primary?.isReplacement) await readModel.load()
  const address = await state.listeners.listen(app, settings.host, settings.port)
  if (!primary?.isReplacement) await readModel.load()
  await primary?.reportReady(address)
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

async function openLog(
  { dataDir, naming, baseUrl }: Settings,
  db: Database,
  now: () => number,
  witnesses: LogWitnesses | null,
): Promise<TransparencyLog> {
  const key = await openServiceKey({ db, dataDir }, 'log')
  const host = baseUrl.host
  return new TransparencyLog({ db, dataDir, key, naming, host, now, randomBytes, witnesses })
}

/** Null if the service sends no e-mail. */
function openEmails(settings: Settings, log: Logger, { owners }: AppDeps): DueEmails | null {
  const { mail, serviceName } = settings
  if (mail === null) return null
  const mailer = mail.kind === 'smtp' ? smtpMailer(mail, serviceName) : null
  return new DueEmails({ ...owners, mailer }, (err) => log.warn({ err }, 'an e-mail was not sent'))
}
