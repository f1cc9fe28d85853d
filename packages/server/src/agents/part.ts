import type {
  DirectoryProofRequest,
  EndDelegationsRequest,
  RenounceRequest,
  SignedRequest,
  VerifyRequest,
  VerifyResponse,
} from '@countersign/protocol'
import type { OwnersPart } from '../accounts/owners/owner-routes.ts'
import type { OwnerDeps } from '../accounts/providers/providers.ts'
import { AGENT_REPORTS, ENROLMENTS, HOST_REPORTS } from '../http/limits/rate-limits.ts'
import type { PartDeps } from '../http/part.ts'
import { openServiceKey } from '../secrets/service-keys.ts'
import {
  agentRoute,
  avatarRoute,
  didJsonRoute,
  gradeRoute,
  uploadedAvatarRoute,
} from './agent-routes.ts'
import type { CardRenderers } from './card.ts'
import { cardRoute, compactCardRoute } from './card-routes.ts'
import { continueRegrade, REGRADE_OWNER } from './changes/regrade-owner.ts'
import { claim } from './claims/claim.ts'
import { claimRoute, issueTokenRoutes } from './claims/claim-routes.ts'
import type { ClaimLog } from './claims/mint.ts'
import { clientMetadataRoute } from './client-metadata-routes.ts'
import {
  END_ENROLMENT,
  END_RULE,
  endAgentsOfRule,
  endByWorkload,
  endUnseen,
} from './enrolment/end-enrolment.ts'
import { enrol } from './enrolment/enrol.ts'
import { enrolledAgents } from './enrolment/enrolment-of-agent.ts'
import { enrolmentRoutes } from './enrolment/enrolment-routes.ts'
import { ownEnrolmentRoutes } from './enrolment/own-enrolment-routes.ts'
import { PlatformKeys } from './enrolment/platform-keys.ts'
import type { ReadDeps } from './find-agent.ts'
import { agentsOfKeyRoute } from './keys/agents-of-key-routes.ts'
import { completeDueRecovery } from './keys/complete-recovery.ts'
import { proveDirectory } from './keys/directory-proof.ts'
import { COMPLETE_RECOVERY } from './keys/end-recovery.ts'
import { keyHistoryRoute, keyRoutes, renounceRoute } from './keys/key-routes.ts'
import { directoryProofRoute, keySetRoute } from './keys/key-set-routes.ts'
import { ownKeyRoutes } from './keys/own-key-routes.ts'
import { recover, vetoRecovery } from './keys/recover.ts'
import { REVOKE_RENOUNCED, renounce, revokeRenounced } from './keys/renounce.ts'
import { reportByKey } from './keys/report-key.ts'
import { rotate } from './keys/rotate.ts'
import { serviceDirectoryRoute } from './keys/service-directory-routes.ts'
import { answerPlainLookups, identifyRoute, LOOKUP_URL, lookupRoute } from './lookup-routes.ts'
import { endDelegations } from './manage/delegation.ts'
import { endDelegationsRoute, ownDelegationRoutes } from './manage/delegation-routes.ts'
import { ownAgentRoutes } from './manage/own-agent-routes.ts'
import { answerPlainDocuments } from './plain-document-routes.ts'
import { pruneReports } from './reports/receive-report.ts'
import { ReportMetrics } from './reports/report-metrics.ts'
import { ownReportRoutes, reportRoutes } from './reports/report-routes.ts'
import type { CertificateCheck } from './reports/verify-evidence.ts'
import {
  followMissing,
  RESPONSIBLE_MISSING,
  withoutResponsible,
} from './responsible/missing-responsible.ts'
import { organisationSettingsRoutes } from './responsible/organisation-settings-routes.ts'
import { TRANSFER } from './transfers/end-transfer.ts'
import { transfersByState } from './transfers/list-transfers.ts'
import { continueTransfer } from './transfers/move-agents.ts'
import { transferRoutes } from './transfers/transfer-routes.ts'
import { verifyChallenge } from './verification/verify-challenge.ts'
import { verifyRequestRoute, verifyRoute } from './verification/verify-routes.ts'
import {
  type StatementVerifiers,
  signedRequestVerdict,
} from './verification/verify-signed-request.ts'

/** How often old reports are deleted. */
const PRUNE_REPORTS_MS = 3_600_000

export interface AgentsPart extends OwnersPart {
  readonly verify: (request: VerifyRequest) => Promise<VerifyResponse>
}

/**
 * The register of agents: claims, public reads, verification, keys, and what owners manage.
 * @param cards null: cards are JSON only
 * @param log gives claims their places
 * @param verifiers verify certificates, of which chains of delegations begin with one, and approvals; `wasCertified` as of a time
 */
export async function openAgents(
  context: PartDeps & ReadDeps & OwnerDeps,
  cards: CardRenderers | null,
  log: ClaimLog | null,
  verifiers: StatementVerifiers & { readonly wasCertified: CertificateCheck },
): Promise<AgentsPart> {
  const { settings, db, site, metrics } = context
  const { naming } = site
  const { keyReuse, recoveryDelayMs } = settings
  const directoryKey = await openServiceKey({ db, folders: settings }, 'directory')
  const claimDeps = { ...context, naming, keyReuse, log }
  const keyDeps = { ...context, keyReuse, recoveryDelayMs }
  const platformKeys = new PlatformKeys(context)
  const newAgents = settings.rateLimits.get(ENROLMENTS) ?? null
  const { enrolments, enrolmentsEnded } = metrics
  const enrolDeps = { ...keyDeps, platformKeys, newAgents, enrolments }
  const endDeps = { ...context, onEnded: () => enrolmentsEnded.add('agent') }
  const verifyDeps = { ...context, ...verifiers }
  const reportMetrics = new ReportMetrics()
  const quotaOf = (name: string) => settings.rateLimits.get(name) ?? null
  const quotas = { host: quotaOf(HOST_REPORTS), agent: quotaOf(AGENT_REPORTS) }
  const { wasCertified } = verifiers
  const reportDeps = { ...context, wasCertified, metrics: reportMetrics, quotas }
  const pageReads = { ...context, db: db.read }
  const verify = (request: VerifyRequest) =>
    metrics.verifications.count(verifyChallenge(context, request), ({ verified }) =>
      verified ? 'verified' : 'not_active',
    )
  return {
    verify,
    routes(app) {
      lookupRoute(app, context)
      verifyRoute(app, { naming, verify })
      verifyRequestRoute(app, {
        naming,
        verifyRequest: (request: SignedRequest) => signedRequestVerdict(verifyDeps, request),
      })
      claimRoute(app, {
        naming,
        claim: (request) => metrics.claims.count(claim(claimDeps, request), () => 'claimed'),
      })
      renounceRoute(app, {
        naming,
        renounce: (reference: string, request: RenounceRequest) =>
          renounce(keyDeps, reference, request),
      })
      endDelegationsRoute(app, {
        naming,
        endDelegations: (reference: string, request: EndDelegationsRequest) =>
          endDelegations(context, reference, request),
      })
      keyHistoryRoute(app, context)
      keyRoutes(app, naming, {
        rotate: (reference, request) => rotate(keyDeps, reference, request),
        recover: (reference, request) => recover(keyDeps, reference, request),
        vetoRecovery: (reference, request) => vetoRecovery(keyDeps, reference, request),
        reportKey: (reference, request) => reportByKey(keyDeps, reference, request),
      })
      identifyRoute(app, context)
      cardRoute(app, context, cards?.full ?? null)
      gradeRoute(app, pageReads)
      compactCardRoute(app, context, cards?.compact ?? null)
      agentRoute(app, context)
      avatarRoute(app, context)
      uploadedAvatarRoute(app, context)
      didJsonRoute(app, context)
      keySetRoute(app, context)
      clientMetadataRoute(app, context)
      agentsOfKeyRoute(app, { db, site })
      directoryProofRoute(app, {
        naming,
        proveDirectory: (reference: string, request: DirectoryProofRequest) =>
          proveDirectory(context, reference, request),
      })
      serviceDirectoryRoute(app, { ...context, directoryKey })
      reportRoutes(app, reportDeps)
      enrolmentRoutes(app, {
        naming,
        enrol: (request) => enrol(enrolDeps, request),
        endEnrolment: (reference, request) => endByWorkload(endDeps, reference, request),
      })
    },
    ahead: [
      {
        route: { operationId: 'lookup', url: LOOKUP_URL, method: 'GET' },
        open: () => answerPlainLookups({ ...context, read: context }),
      },
      ...answerPlainDocuments({ ...context, read: context }, cards !== null),
    ],
    ownerRoutes(app, owners) {
      issueTokenRoutes(app, { ...owners, deps: context })
      ownAgentRoutes(app, { ...owners, deps: context })
      ownKeyRoutes(app, { ...owners, deps: keyDeps })
      ownDelegationRoutes(app, { ...owners, deps: context })
      transferRoutes(app, { ...owners, deps: keyDeps })
      organisationSettingsRoutes(app, { ...owners, deps: context })
      ownReportRoutes(app, { ...owners, deps: context })
      ownEnrolmentRoutes(app, { ...owners, deps: { ...context, platformKeys } })
    },
    gauges(registrar) {
      reportMetrics.describe(registrar)
      registrar.gauge(
        'countersign_agents_without_responsible',
        'Agents of organisations that are not revoked and have no responsible person',
        () => withoutResponsible(context),
      )
      registrar.counter(
        'countersign_transfers_total',
        'Transfers of agents that have reached a state, on all nodes',
        ['state'],
        () => transfersByState(context),
      )
      registrar.gauge('countersign_enrolled_agents', 'Enrolled agents that have not ended', () =>
        enrolledAgents(context),
      )
      registrar.labelledCounter(
        'countersign_enrolment_key_fetches_total',
        'Reads of the keys of issuers of platform tokens, by outcome',
        () => platformKeys.reads.counts,
        'result',
      )
    },
    timers: [
      {
        everyMs: PRUNE_REPORTS_MS,
        run: () => pruneReports(context),
        failure: 'old reports were not deleted',
      },
    ],
    jobs: {
      [REGRADE_OWNER]: continueRegrade,
      [COMPLETE_RECOVERY]: completeDueRecovery,
      [REVOKE_RENOUNCED]: revokeRenounced,
      [RESPONSIBLE_MISSING]: followMissing,
      [TRANSFER]: continueTransfer,
      [END_ENROLMENT]: async (tx, job, at) => {
        if (await endUnseen(tx, job, at)) enrolmentsEnded.add('service')
      },
      [END_RULE]: async (tx, job, at) => {
        enrolmentsEnded.add('owner', await endAgentsOfRule(tx, job, at))
      },
    },
  }
}
