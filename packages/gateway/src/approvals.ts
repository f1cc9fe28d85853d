import {
  type ApprovalTokenVerifier,
  findApproval,
  isBodyCompared,
  type NonceStore,
  recordApproval,
  type SignatureResult,
  type VerifiedSignature,
} from '@countersign/protocol'
import type { CountersignError } from '@countersign/sdk'
import { type CarriedApproval, customRefusal, refusalOf } from './decision/decide.ts'
import {
  approvedOutcome,
  type Outcome,
  type OutcomeContext,
  rateLimitedOutcome,
  refusedOutcome,
} from './decision/outcome.ts'
import { reason } from './decision/reasons.ts'
import type { TrustedIssuer } from './issuers/trusted-issuers.ts'
import type { ApprovalClient } from './options.ts'
import type { Rules } from './policy/policy.ts'
import type { ProvenSigner } from './signatures.ts'
import { withTimeLimit } from './time-limit.ts'

export interface ApprovalsOptions {
  readonly registry: Partial<ApprovalClient>
  /** The origin of the service, as agents name it. */
  readonly issuer: string
  readonly nonces: NonceStore
  readonly timeoutMs: number
  /** The clock of tokens, in milliseconds since 1970. */
  readonly clock: () => number
}

/** A request with the approval that it carries, which was decided on by some rules. */
export interface ApprovedRequest {
  readonly carried: CarriedApproval
  readonly rules: readonly Rules[]
  readonly proven: VerifiedSignature
  readonly digest: SignatureResult['digest']
  /** Whether it is known for certain that a request has no content, without reading it. */
  readonly seesContent: boolean
}

/** For an agent that has used up its share of the store: its approvals end within the hour. */
const SHARE_RETRY_SECONDS = 60

/** Verifies the approvals of signed requests, and uses them up (docs/approvals.md). */
export class Approvals {
  readonly #options: ApprovalsOptions

  constructor(options: ApprovalsOptions) {
    this.#options = options
  }

  /**
   * Adds the approval of a request to what is known of its signer: steps b to d, once for all rules. Nothing of it is cached.
   * @param trusted the issuer of the agent, if the policy trusts it; null: the service
   */
  async attach(found: ProvenSigner, trusted: TrustedIssuer | null): Promise<ProvenSigner> {
    const { signer, proven } = found
    if (signer.kind !== 'named') return found
    const approval = await this.#find(proven, trusted)
    return { ...found, signer: { ...signer, approval }, derived: null }
  }

  async #find(proven: VerifiedSignature, trusted: TrustedIssuer | null): Promise<CarriedApproval> {
    const verify: ApprovalTokenVerifier =
      trusted === null
        ? (token) => this.#verifyAtService(token)
        : (token) => trusted.approval(token)
    const found = await findApproval(proven, verify)
    if (typeof found === 'string') return { fault: found }
    return { fault: null, found, now: trusted?.follower.now() ?? this.#options.clock() }
  }

  /** Steps f and g, for a request that everything else admits. */
  async use(context: OutcomeContext, outcome: Outcome, request: ApprovedRequest): Promise<Outcome> {
    const { carried, rules, proven, digest, seesContent } = request
    const [rule] = rules.filter(({ approval }) => approval !== null)
    if (rule === undefined || carried.fault !== null) throw new Error('no approval was required')
    const { found } = carried
    const { id } = found.approval
    const refused = customRefusal(rule, 403)
    const comparesBody = rules.some(({ approval }) => approval?.bodyCheckedByApplication === false)
    if (comparesBody && !isBodyCompared(found, proven, digest, seesContent)) {
      return refusedOutcome(context, outcome, reason('approval-mismatch'), refused)
    }
    const approved = approvedOutcome(context, outcome, found.approval)
    if (context.policy.mode === 'shadow') return approved
    switch (await recordApproval(found, this.#options.nonces)) {
      case 'fresh':
        return approved
      case 'used':
        return refusedOutcome(context, outcome, reason('approval-used', id), refused)
      case 'share-exceeded':
        return rateLimitedOutcome(context, outcome, SHARE_RETRY_SECONDS)
      case 'unchecked':
        return refusedOutcome(context, outcome, reason('approval-unchecked'), refusalOf(503))
    }
  }

  async #verifyAtService(token: string): ReturnType<ApprovalTokenVerifier> {
    const { registry, issuer, timeoutMs, clock: now } = this.#options
    const verifying = registry.verifyApproval?.(token, { issuer, now })
    try {
      const verified = verifying && (await withTimeLimit(verifying, timeoutMs))
      return verified === undefined || verified === 'late' ? 'directory-unavailable' : verified
    } catch (error) {
      const { code } = error as Partial<CountersignError>
      return code === 'INVALID_TOKEN' ? 'approval-invalid' : 'directory-unavailable'
    }
  }
}
