import { randomBytes } from 'node:crypto'
import type { Server } from 'node:http'
import { join } from 'node:path'
import type {
  DirectoryProofRequest,
  RenounceRequest,
  RuntimeAnswer,
  SignedRequest,
} from '@countersign/protocol'
import type { Logger } from 'pino'
import type { OwnersPart } from '../accounts/owners/owner-routes.ts'
import { type Providers, providerLabelsOf } from '../accounts/providers/providers.ts'
import { claim } from '../agents/claims/claim.ts'
import { proveDirectory } from '../agents/keys/directory-proof.ts'
import { recover, vetoRecovery } from '../agents/keys/recover.ts'
import { renounce } from '../agents/keys/renounce.ts'
import { rotate } from '../agents/keys/rotate.ts'
import type { AgentReadModel } from '../agents/read-model/agent-read-model.ts'
import { verifyChallenge } from '../agents/verification/verify-challenge.ts'
import {
  signedRequestVerdict,
  verifySignedRequest,
} from '../agents/verification/verify-signed-request.ts'
import type { Settings } from '../base/config.ts'
import { siteOf } from '../base/site.ts'
import type { ChannelSources } from '../channels/kinds/kind.ts'
import { answerRuntime, challengeRuntime } from '../channels/runtime-answer.ts'
import type { Database } from '../database/database.ts'
import { connectionLimit } from '../http/connection-limit.ts'
import type { LoadShedder } from '../http/limits/concurrency-limiter.ts'
import type { RateLimiter } from '../http/limits/rate-limiter.ts'
import type { Listeners } from '../http/listeners.ts'
import type { RequestMetrics } from '../http/metrics/request-metrics.ts'
import type { Sender } from '../http/outbound/open-sender.ts'
import { trustedProxies } from '../http/trusted-proxies.ts'
import { LoggedKeys } from '../log/read-log.ts'
import { reportLog } from '../log/report-log.ts'
import type { TransparencyLog } from '../log/transparency-log.ts'
import type { LogWitnesses } from '../log/witnesses/log-witnesses.ts'
import { Library } from '../pages/docs/library.ts'
import { deploymentOf } from '../pages/docs/names.ts'
import { Ed25519Verifier } from '../secrets/ed25519.ts'
import type { IssuerKeyRing } from '../secrets/issuer-keys/issuer-keys.ts'
import { loadPepper } from '../secrets/secrets.ts'
import type { DeriveServiceKey, ServiceKey } from '../secrets/service-keys.ts'
import { Issuer } from '../statements/certificates/issue.ts'
import { issueGrant } from '../statements/grants/issue-grant.ts'
import type { Status } from '../statements/status-lists/open-status.ts'
import type { AppDeps } from './app.ts'
import { databaseReporter } from './report-database.ts'

/** Written by `npm run build`. */
const DASHBOARD_DIR = join(import.meta.dirname, '../../../dashboard/dist')
const PAGES_DIR = join(import.meta.dirname, '../../dist/pages')
const DOCS_DIR = join(import.meta.dirname, '../../dist/docs')

/** The opened parts of a service. */
export interface ServiceParts {
  readonly db: Database
  readonly readModel: AgentReadModel
  readonly metrics: RequestMetrics
  readonly loadShedder: LoadShedder
  /** Null if rate limits are off. */
  readonly rateLimiter: RateLimiter | null
  readonly state: ServiceState
  readonly providers: Providers
  readonly channelSources: ChannelSources
  readonly directoryKey: ServiceKey
  readonly a2aKeys: DeriveServiceKey
  readonly sender: Sender
  readonly issuerKeys: IssuerKeyRing
  readonly status: Status
  readonly transparencyLog: TransparencyLog
  /** Null if the log has none. */
  readonly logWitnesses: LogWitnesses | null
  readonly opened: readonly OwnersPart[]
  readonly now: () => number
}

export interface ServiceState {
  phase: 'starting' | 'ready' | 'draining'
  readonly listeners: Listeners
}

/** Builds the dependencies of the HTTP app. */
export function appDeps(settings: Settings, log: Logger, parts: ServiceParts): AppDeps {
  const {
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
  } = parts
  const { naming, keyReuse, serviceName } = settings
  const site = siteOf(naming, settings.baseUrl, providerLabelsOf(providers), channelSources.kinds)
  const ed25519 = new Ed25519Verifier()
  const claimDeps = { db, readModel, ed25519, naming, keyReuse, now, randomBytes }
  const verifyDeps = { readModel, ed25519, site, now }
  const grantDeps = { ...verifyDeps, db, issuerKeys, sender, randomBytes }
  const pepper = loadPepper(settings.dataDir)
  const { recoveryDelayMs, certificateLifetimeMs } = settings
  const keyDeps = { db, readModel, ed25519, site, keyReuse, recoveryDelayMs, now }
  const loggedKeys = new LoggedKeys({ db, log: transparencyLog })
  const runtimeDeps = { db, readModel, ed25519, site, pepper, now, randomBytes }
  return {
    log,
    read: { readModel, site, now },
    claim: (request: Parameters<typeof claim>[1]) =>
      metrics.claims.count(claim(claimDeps, request), () => 'claimed'),
    verify: (request: Parameters<typeof verifyChallenge>[1]) =>
      metrics.verifications.count(verifyChallenge(verifyDeps, request), ({ verified }) =>
        verified ? 'verified' : 'not_active',
      ),
    verifyRequest: (request: SignedRequest) => signedRequestVerdict(verifyDeps, request),
    verifySignedRequest: (request, body) => verifySignedRequest(verifyDeps, request, body),
    runtime: {
      challenge: (reference: string) => challengeRuntime(runtimeDeps, reference),
      answer: (reference: string, answer: RuntimeAnswer) =>
        answerRuntime(runtimeDeps, reference, answer),
    },
    renounce: (reference: string, request: RenounceRequest) =>
      renounce(keyDeps, reference, request),
    issueGrant: (...args) => metrics.grants.count(issueGrant(grantDeps, ...args), () => 'issued'),
    proveDirectory: (reference: string, request: DirectoryProofRequest) =>
      proveDirectory({ db, ed25519, site, now }, reference, request),
    directoryKey,
    issuerKeys,
    status,
    issuer: new Issuer({
      ...{ readModel, site, now, db, issuerKeys, certificateLifetimeMs, loggedKeys },
      statusState: status.state,
    }),
    transparencyLog,
    parts: opened,
    loggedKeys,
    keys: {
      rotate: (reference, request) => rotate(keyDeps, reference, request),
      recover: (reference, request) => recover(keyDeps, reference, request),
      vetoRecovery: (reference, request) => vetoRecovery(keyDeps, reference, request),
    },
    isReady: () => state.phase === 'ready',
    isFresh: () => readModel.isFresh,
    reportDatabase: databaseReporter(db, readModel),
    reportParts: () =>
      Object.assign(
        { log: reportLog(transparencyLog, logWitnesses) },
        ...opened.map((each) => each.readiness?.()),
      ),
    isDraining: () => state.phase === 'draining',
    onServer: (server: Server, createAnother: () => Server) =>
      state.listeners.addServer(server, createAnother),
    metrics,
    limitConnections: connectionLimit({
      perAddress: settings.maxConnectionsPerAddress,
      isTrustedProxy: trustedProxies(settings.trustedProxies),
    }),
    loadShedder,
    rateLimiter,
    trustedProxies: settings.trustedProxies,
    dashboardDir: DASHBOARD_DIR,
    pagesDir: PAGES_DIR,
    library: new Library(DOCS_DIR, deploymentOf(settings, rateLimiter?.limits ?? [])),
    cardFormats: settings.previews.has('card-formats'),
    owners: {
      db,
      readModel,
      site,
      serviceName,
      pepper,
      providers,
      channelSources,
      a2aKeys,
      mailDelivery: settings.mail?.kind ?? null,
      keyReuse,
      recoveryDelayMs,
      now,
      randomBytes,
    },
    serviceName,
  }
}
