import type { ApprovalTokenVerifier, RootLookup } from '@countersign/protocol'
import type { OwnersPart } from '../accounts/owners/owner-routes.ts'
import type { ReadDeps } from '../agents/find-agent.ts'
import type { CertificateCheck } from '../agents/reports/verify-evidence.ts'
import { type PartDeps, WORK_MS } from '../http/part.ts'
import type { LogPart } from '../log/part.ts'
import { IssuerKeyRing, type IssuerKeys } from '../secrets/issuer-keys/issuer-keys.ts'
import { approvalRoutes, ownApprovalRoutes } from './approvals/approval-routes.ts'
import { askForApproval, deleteOldTexts } from './approvals/ask.ts'
import { ownMandateRoutes } from './approvals/mandate-routes.ts'
import { readProgress } from './approvals/read-approvals.ts'
import { ownApprovalVerifier } from './approvals/verify-own-token.ts'
import {
  answerPlainCertificates,
  answerPlainKeySet,
  CERTIFICATE_URL,
  certificateRoutes,
  ISSUER_KEY_SET_PATH,
  issuerKeyRoutes,
} from './certificates/certificate-routes.ts'
import { Issuer } from './certificates/issue.ts'
import { isCertificate, rootVerifier } from './certificates/verify-root.ts'
import {
  delegationGroupRoutes,
  ownDelegationGroupRoutes,
} from './delegations/delegation-group-routes.ts'
import {
  createDelegationGroup,
  DELETE_DELEGATION,
  deleteExpiredGroup,
  endDelegationGroup,
} from './delegations/delegation-groups.ts'
import { grantIssuerRoutes, grantRoute, issuerMetadataRoutes } from './grants/grant-routes.ts'
import { issueGrant } from './grants/issue-grant.ts'
import { openStatus } from './status-lists/open-status.ts'
import { TICK_MS } from './status-lists/status-feed.ts'
import {
  answerPlainPolls,
  feedRoute,
  LATEST_FEED,
  latestFeedRoute,
  snapshotRoute,
  statusListRoute,
} from './status-lists/status-routes.ts'

/** How often changes that are no longer kept are looked for. */
const OLD_CHANGES_MS = 3_600_000

export interface StatementsPart extends OwnersPart {
  /** Verifies the signature and the times of a certificate as of a time. */
  readonly wasCertified: CertificateCheck
  /** The keys that sign statements. */
  readonly issuerKeys: IssuerKeys
  /** Verifies certificates of this service as of a time. Chains of delegations begin with one. */
  readonly rootsAt: (now: () => number) => RootLookup
  /** Verifies approvals of this service as of a time. */
  readonly approvalsAt: (now: () => number) => ApprovalTokenVerifier
}

/** What the issuer signs: status lists with their feed, certificates, grants. */
export async function openStatements(
  context: PartDeps & ReadDeps,
  { loggedKeys }: LogPart,
): Promise<StatementsPart> {
  const { settings, log, db, site, metrics, resources } = context
  const { certificateLifetimeMs } = settings
  const issuerKeys = await IssuerKeyRing.open({
    ...context,
    folders: settings,
    certificateLifetimeMs,
  })
  const status = await openStatus({
    ...context,
    issuerKeys,
    baseUrl: site.baseUrl,
    onError: (err) => log.error({ err }, 'the status lists cannot be loaded'),
  })
  resources.defer(() => status.state.stop())
  const deps = { ...context, issuerKeys }
  const statusState = status.state
  const issuer = new Issuer({ ...deps, certificateLifetimeMs, loggedKeys, statusState })
  const groupDeps = { ...context, issuer, loggedKeys }
  return {
    issuerKeys,
    rootsAt: (now) => rootVerifier({ ...deps, statusState, now }),
    approvalsAt: (now) => ownApprovalVerifier({ site, issuerKeys, now }),
    wasCertified: (root, now) => isCertificate({ ...deps, now: () => now }, root),
    routes(app) {
      statusListRoute(app, { site, ...status })
      snapshotRoute(app, { site, ...status })
      feedRoute(app, { site, ...status })
      latestFeedRoute(app, { site, ...status })
      certificateRoutes(app, { site, issuer })
      grantRoute(app, {
        issueGrant: (...args) => metrics.grants.count(issueGrant(deps, ...args), () => 'issued'),
        baseUrl: site.baseUrl,
      })
      delegationGroupRoutes(app, {
        createGroup: (...args) => createDelegationGroup(groupDeps, ...args),
        endGroup: (...args) => endDelegationGroup(groupDeps, ...args),
        baseUrl: site.baseUrl,
      })
      approvalRoutes(app, {
        ask: (...args) => askForApproval(context, ...args),
        read: (id) => readProgress(deps, id),
        baseUrl: site.baseUrl,
      })
      issuerMetadataRoutes(app, { site, issuerKeys, db: db.pointReads })
      issuerKeyRoutes(app, { site, issuerKeys })
    },
    ahead: [
      {
        route: { operationId: 'agentCertificate', url: CERTIFICATE_URL, method: 'GET' },
        open: () => answerPlainCertificates({ ...context, read: context, issuer }),
      },
      {
        route: { operationId: 'issuerKeySet', url: ISSUER_KEY_SET_PATH, method: 'GET' },
        open: () => answerPlainKeySet(context, issuerKeys),
      },
      {
        route: LATEST_FEED,
        open: () => answerPlainPolls({ ...context, naming: site.naming }, status.feed),
      },
    ],
    ownerRoutes(app, owners) {
      grantIssuerRoutes(app, { ...owners, deps })
      ownDelegationGroupRoutes(app, { ...owners, deps: context })
      ownApprovalRoutes(app, { ...owners, deps: context })
      ownMandateRoutes(app, { ...owners, deps: context })
    },
    jobs: { [DELETE_DELEGATION]: deleteExpiredGroup },
    gauges(registrar) {
      registrar.gauge(
        'countersign_status_age_seconds',
        'Age of the newest state that was signed for status lists and their feed',
        () => status.feed.ageSeconds,
      )
      registrar.gauge(
        'countersign_feed_subscribers',
        'Open streams of the status feed',
        () => status.feed.subscribers,
      )
      registrar.gauge(
        'countersign_feed_evictions',
        'Streams of the status feed that were ended for those of other networks, since the start',
        () => status.feed.evicted,
      )
    },
    timers: [
      {
        everyMs: WORK_MS,
        run: () => issuerKeys.refresh(),
        failure: 'the state of the issuer keys cannot be read',
      },
      { everyMs: TICK_MS, run: () => status.feed.tick(), failure: 'no head was signed' },
      {
        everyMs: OLD_CHANGES_MS,
        run: () => status.deleteOldChanges(),
        failure: 'old changes of the status feed were not deleted',
      },
      {
        everyMs: OLD_CHANGES_MS,
        run: () => deleteOldTexts(context),
        failure: 'old approvals were not deleted',
      },
    ],
  }
}
