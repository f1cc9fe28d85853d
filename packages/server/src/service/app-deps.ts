import { randomBytes } from 'node:crypto'
import type { Server } from 'node:http'
import { join } from 'node:path'
import type { RuntimeAnswer } from '@countersign/protocol'
import type { Logger } from 'pino'
import type { AgentReadModel } from '../agents/read-model/agent-read-model.ts'
import type { ChannelSources } from '../channels/deps.ts'
import { answerRuntime, challengeRuntime } from '../channels/runtime-answer.ts'
import { claim } from '../claims/claim.ts'
import type { Settings } from '../config/config.ts'
import { VERSION } from '../config/version.ts'
import { Ed25519Verifier } from '../core/crypto/ed25519.ts'
import { loadPepper } from '../core/crypto/secrets.ts'
import type { Database } from '../core/database/database.ts'
import type { Listeners } from '../core/http/listeners.ts'
import type { Overload } from '../core/limits/concurrency.ts'
import type { Limiter } from '../core/limits/limiter.ts'
import type { RequestMetrics } from '../core/metrics/request-metrics.ts'
import { siteOf } from '../core/site.ts'
import { type Providers, providerLabelsOf } from '../providers/providers.ts'
import { verifyChallenge } from '../verification/verify-challenge.ts'
import type { AppDeps } from './app.ts'
import { databaseReporter } from './report-database.ts'

/** Made by `npm run build`. */
const DASHBOARD_DIR = join(import.meta.dirname, '../../../dashboard/dist')
const PAGES_DIR = join(import.meta.dirname, '../../dist/pages')
const DOCS_DIR = join(import.meta.dirname, '../../dist/docs')

/** What the service is made of, once it is open. */
export interface Parts {
  readonly db: Database
  readonly readModel: AgentReadModel
  readonly metrics: RequestMetrics
  readonly overload: Overload
  /** Null where rates are not limited. */
  readonly limiter: Limiter | null
  readonly state: State
  readonly providers: Providers
  readonly channelSources: ChannelSources
  readonly now: () => number
}

export interface State {
  phase: 'starting' | 'ready' | 'draining'
  readonly listeners: Listeners
}

/** What the HTTP side works on. */
export function appDeps(settings: Settings, log: Logger, parts: Parts): AppDeps {
  const { db, readModel, metrics, overload, limiter, state, providers, channelSources, now } = parts
  const { naming, keyReuse, serviceName, trustedProxies } = settings
  const site = siteOf(naming, settings.baseUrl, providerLabelsOf(providers), channelSources.kinds)
  const ed25519 = new Ed25519Verifier()
  const claimDeps = { db, readModel, ed25519, naming, keyReuse, now, randomBytes }
  const verifyDeps = { readModel, ed25519, site, now }
  const pepper = loadPepper(settings.dataDir)
  const runtimeDeps = { db, readModel, ed25519, site, pepper, now, randomBytes }
  return {
    log,
    read: { readModel, site, now },
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
    vouches: () => readModel.vouches,
    reportDatabase: databaseReporter(db, readModel),
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
      readModel,
      site,
      serviceName,
      pepper,
      providers,
      channelSources,
      now,
      randomBytes,
    },
    openapi: { naming, serviceName, baseUrl: site.baseUrl, version: VERSION },
  }
}
