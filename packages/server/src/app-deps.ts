import { randomBytes } from 'node:crypto'
import type { Server } from 'node:http'
import { join } from 'node:path'
import type { RuntimeAnswer } from '@countersign/protocol'
import type { Logger } from 'pino'
import { Ed25519Verifier } from './adapters/ed25519.ts'
import { loadPepper } from './adapters/secrets.ts'
import type { Settings } from './config.ts'
import type { Outside } from './domain/channels/outside.ts'
import { answerRuntime, challengeRuntime } from './domain/channels/runtime-answer.ts'
import { claim } from './domain/claim.ts'
import { type Providers, providerLabelsOf } from './domain/identity-providers.ts'
import type { Registry } from './domain/read-model/registry.ts'
import { databaseReporter } from './domain/report-database.ts'
import { siteOf } from './domain/site.ts'
import { verifyChallenge } from './domain/verify-challenge.ts'
import type { AppDeps } from './http/app.ts'
import type { Listeners } from './http/listeners.ts'
import type { RequestMetrics } from './http/metrics/request-metrics.ts'
import type { Overload } from './http/overload/overload.ts'
import type { Limiter } from './http/rate-limit/limiter.ts'
import type { Database } from './storage/database.ts'
import { VERSION } from './version.ts'

/** Made by `npm run build`. */
const DASHBOARD_DIR = join(import.meta.dirname, '../../dashboard/dist')
const PAGES_DIR = join(import.meta.dirname, '../dist/pages')
const DOCS_DIR = join(import.meta.dirname, '../dist/docs')

/** What the service is made of, once it is open. */
export interface Parts {
  readonly db: Database
  readonly registry: Registry
  readonly metrics: RequestMetrics
  readonly overload: Overload
  /** Null where rates are not limited. */
  readonly limiter: Limiter | null
  readonly state: State
  readonly providers: Providers
  readonly outside: Outside
  readonly now: () => number
}

export interface State {
  phase: 'starting' | 'ready' | 'draining'
  readonly listeners: Listeners
}

/** What the HTTP side works on. */
export function appDeps(settings: Settings, log: Logger, parts: Parts): AppDeps {
  const { db, registry, metrics, overload, limiter, state, providers, outside, now } = parts
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
    claim: (request: Parameters<typeof claim>[1]) =>
      metrics.claims.of(claim(claimDeps, request), () => 'claimed'),
    verify: (request: Parameters<typeof verifyChallenge>[1]) =>
      metrics.verifications.of(verifyChallenge(verifyDeps, request), ({ verified }) =>
        verified ? 'verified' : 'not_active',
      ),
    runtime: {
      challenge: (reference: string) => challengeRuntime(runtimeDeps, reference),
      answer: (reference: string, answer: RuntimeAnswer) =>
        answerRuntime(runtimeDeps, reference, answer),
    },
    isReady: () => state.phase === 'ready',
    vouches: () => registry.vouches,
    reportDatabase: databaseReporter(db, registry),
    isDraining: () => state.phase === 'draining',
    onServer: (server: Server, another: () => Server) => state.listeners.watch(server, another),
    metrics,
    overload,
    limiter,
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
