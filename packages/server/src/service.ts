import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import type { Server } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RuntimeAnswer } from '@countersign/protocol'
import type { Logger } from 'pino'
import { CHANNEL_KINDS } from './adapters/channels/kinds.ts'
import { Ed25519Verifier, selfTestEd25519 } from './adapters/ed25519.ts'
import type { Env } from './adapters/identity-providers/secret.ts'
import { openPerspectives } from './adapters/outside/open-perspectives.ts'
import { loadPepper } from './adapters/secrets.ts'
import type { Settings } from './config.ts'
import type { Outside } from './domain/channels/outside.ts'
import { DueChecks, secondsLate } from './domain/channels/recheck-due.ts'
import { answerRuntime, challengeRuntime } from './domain/channels/runtime-answer.ts'
import { claim } from './domain/claim.ts'
import { type Providers, providerLabelsOf } from './domain/identity-providers.ts'
import { Registry, type Staleness } from './domain/read-model/registry.ts'
import { DueJobs } from './domain/run-jobs.ts'
import { siteOf } from './domain/site.ts'
import { verifyChallenge } from './domain/verify-challenge.ts'
import { createApp } from './http/app.ts'
import { Listeners } from './http/listeners.ts'
import { createMetricsServer, type Gauges, RequestMetrics } from './http/metrics.ts'
import { openProviders, tellOfProviders } from './identity-providers.ts'
import type { Database } from './storage/database.ts'
import { openDatabase } from './storage/open-database.ts'
import { lockDatabase } from './storage/process-lock.ts'
import { VERSION } from './version.ts'

/** How often the database is asked whether another process has written: far below the promised second. */
const POLL_MS = 100
/** How often is asked what is due: jobs, and checks of channels. */
const WORK_MS = 1000

/** Made by `npm run build`. */
const DASHBOARD_DIR = join(import.meta.dirname, '../../dashboard/dist')
const PAGES_DIR = join(import.meta.dirname, '../dist/pages')
const DOCS_DIR = join(import.meta.dirname, '../dist/docs')

export interface Service {
  /** Where it listens. */
  readonly address: string
  /** Readiness off, a moment for balancers to notice, then no new connections, then the end. */
  stop(): Promise<void>
}

/**
 * Starts the service: checks that cryptography and data are sound, opens both, listens.
 * @param env where secrets are that the settings of identity providers name
 * @param now the clock, in milliseconds since 1970: tests move it
 * @throws SettingsError, AlreadyServedError, NewerSchemaError, Error where the self-test or the check of the file
 *   fails; then nothing is left open
 */
export async function startService(
  settings: Settings,
  log: Logger,
  env: Env = process.env,
  now: () => number = Date.now,
): Promise<Service> {
  const resources = new AsyncDisposableStack()
  try {
    return await start({ settings, log, env, now }, resources)
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
}

/** @param resources closes what has been opened, the last first */
async function start(
  { settings, log, env, now }: Given,
  resources: AsyncDisposableStack,
): Promise<Service> {
  selfTestEd25519()
  const providers = await openProviders(settings, env)
  resources.defer(() => providers.close())
  const userAgent = `Countersign/${VERSION} (+${settings.baseUrl.origin})`
  const perspectives = openPerspectives(settings, userAgent)
  const outside = { kinds: CHANNEL_KINDS, perspectives: perspectives.all }
  mkdirSync(settings.dataDir, { recursive: true, mode: 0o700 })
  if (settings.database.kind === 'sqlite') resources.defer(lockDatabase(settings.database.file))
  const db = await openDatabase(settings.database, now)
  resources.defer(() => db.close())
  await db.check()
  const registry = new Registry(db.read, settings.readModelAgents, randomBytes, boundOf(settings))
  db.onCommit(() => registry.follow())
  await registry.start()

  const state: State = { phase: 'starting', listeners: new Listeners() }
  const metrics = new RequestMetrics()
  const deps = appDeps(settings, log, { db, registry, metrics, state, providers, outside, now })
  const app = await createApp(deps)
  const checks = new DueChecks(deps.owners, (err) => log.error({ err }, 'a check failed'))
  const gauges = {
    agentsInMemory: () => registry.agentsInMemory,
    channelChecks: () => checks.ended,
    channelChecksLate: () => secondsLate(deps.owners),
  }
  await listenForMetrics(settings, metrics, gauges, resources)
  startTimers({ db, registry, now, checks }, log, resources)
  resources.defer(() => state.listeners.close(app))
  // Before the listeners: requests that wait for the outside world would hold the listeners up.
  resources.defer(() => perspectives.close())
  // And before that: a check that is given up is to be made again, not to have found nobody there.
  resources.defer(() => checks.stop())
  const address = await state.listeners.listen(app, settings.host, settings.port)
  await registry.load()
  state.phase = 'ready'
  tellOfProviders(providers, log)

  return {
    address,
    async stop() {
      state.phase = 'draining'
      await sleep(settings.drainSeconds * 1000)
      await resources.disposeAsync()
    },
  }
}

/** Where the data are in a file, whoever reads it reads what is there. */
function boundOf({ database, maxStalenessSeconds }: Settings): Staleness | null {
  if (database.kind === 'sqlite') return null
  return { milliseconds: maxStalenessSeconds * 1000, elapsed: () => performance.now() }
}

interface Parts {
  readonly db: Database
  readonly registry: Registry
  readonly metrics: RequestMetrics
  readonly state: State
  readonly providers: Providers
  readonly outside: Outside
  readonly now: () => number
}

interface State {
  phase: 'starting' | 'ready' | 'draining'
  readonly listeners: Listeners
}

function appDeps(settings: Settings, log: Logger, parts: Parts) {
  const { db, registry, metrics, state, providers, outside, now } = parts
  const { naming, keyReuse, serviceName, trustedProxies } = settings
  const site = siteOf(naming, settings.baseUrl, providerLabelsOf(providers), outside.kinds)
  const ed25519 = new Ed25519Verifier()
  const claimDeps = { db, registry, ed25519, naming, keyReuse, now, randomBytes }
  const verifyDeps = { registry, ed25519, site, now }
  const pepper = loadPepper(settings.dataDir)
  const runtimeDeps = { db, registry, ed25519, site, pepper, now, randomBytes }
  return {
    log,
    read: { registry, site, now },
    claim: (request: Parameters<typeof claim>[1]) => claim(claimDeps, request),
    verify: (request: Parameters<typeof verifyChallenge>[1]) =>
      verifyChallenge(verifyDeps, request),
    runtime: {
      challenge: (reference: string) => challengeRuntime(runtimeDeps, reference),
      answer: (reference: string, answer: RuntimeAnswer) =>
        answerRuntime(runtimeDeps, reference, answer),
    },
    isReady: () => state.phase === 'ready',
    isDraining: () => state.phase === 'draining',
    onServer: (server: Server, another: () => Server) => state.listeners.watch(server, another),
    metrics,
    trustedProxies,
    dashboardDir: DASHBOARD_DIR,
    pagesDir: PAGES_DIR,
    docsDir: DOCS_DIR,
    cardFormats: settings.previews.has('card-formats'),
    owners: {
      db,
      registry,
      site,
      serviceName,
      pepper,
      providers,
      outside,
      now,
      randomBytes,
    },
    openapi: { naming, serviceName, baseUrl: site.baseUrl, version: VERSION },
  }
}

function startTimers(
  {
    db,
    registry,
    now,
    checks,
  }: Pick<Parts, 'db' | 'registry' | 'now'> & { readonly checks: DueChecks },
  log: Logger,
  resources: AsyncDisposableStack,
): void {
  db.onElsewhere(() => void registry.catchUp())
  const poll = setInterval(() => {
    try {
      if (db.changedElsewhere() || registry.isBehind) void registry.catchUp()
    } catch (error) {
      log.error({ err: error }, 'the database cannot be watched')
    }
  }, POLL_MS)
  const onFailure = (error: unknown) => log.error({ err: error }, 'a job failed')
  const due = new DueJobs({ db, now, onFailure })
  const work = setInterval(() => {
    due.run()
    void checks.run()
  }, WORK_MS)
  resources.defer(() => {
    clearInterval(poll)
    clearInterval(work)
    return due.stop()
  })
}

async function listenForMetrics(
  settings: Settings,
  metrics: RequestMetrics,
  gauges: Gauges,
  resources: AsyncDisposableStack,
): Promise<void> {
  if (settings.metricsPort === null) return
  const server = createMetricsServer(metrics, gauges)
  resources.defer(() => {
    server.close()
    server.closeAllConnections()
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(settings.metricsPort as number, settings.host, resolve)
  })
}
