import {
  ASSURANCES,
  type Assurance,
  type Grade,
  gradeOf,
  isCurrent,
  strongestVerification,
  type VerificationEvidence,
} from '@countersign/protocol'
import type { StatusEntryRow } from '../../database/database.ts'
import type { AgentView } from '../agent-record.ts'

/** What certificates with one status entry state about an agent, as far as it can get worse. */
export interface CertifiedState {
  /** The number of the key among the agent's keys. */
  readonly keySequence: number
  readonly grade: Grade
  /** The provider of the strongest verification, and its assurance. Null: not verified. */
  readonly identityMethod: string | null
  readonly assurance: Assurance | null
  /** How many hops a chain may have, 0 to 3. */
  readonly maxDelegationDepth: number
}

/** What is true of an agent now. */
export interface CurrentState {
  readonly keySequence: number
  readonly maxDelegationDepth: number
  readonly grade: Grade
  /** Of its owner; may include expired ones. */
  readonly verifications: readonly VerificationEvidence[]
}

/** What a certificate of an agent states at a time, in milliseconds since 1970. */
export function certifiedStateOf({ agent, owner }: AgentView, now: number): CertifiedState {
  const { status, profile } = agent
  const { verifications } = owner
  const { keySequence, maxDelegationDepth, channels } = profile
  const { grade } = gradeOf({ status, verifications, channels, now })
  return certifiedAt({ keySequence, maxDelegationDepth, grade, verifications }, now)
}

/** What a certificate would state. @param at milliseconds since 1970 */
export function certifiedAt(
  { keySequence, maxDelegationDepth, grade, verifications }: CurrentState,
  at: number,
): CertifiedState {
  const strongest = strongestVerification(verifications, at)
  return {
    keySequence,
    grade,
    identityMethod: strongest?.provider ?? null,
    assurance: strongest?.assurance ?? null,
    maxDelegationDepth,
  }
}

export function certifiedBy(row: StatusEntryRow): CertifiedState {
  return {
    keySequence: row.key_sequence,
    grade: row.grade,
    identityMethod: row.identity_method,
    assurance: row.assurance,
    maxDelegationDepth: row.delegation_depth,
  }
}

export function isSameState(a: CertifiedState, b: CertifiedState): boolean {
  return (
    a.keySequence === b.keySequence &&
    a.grade === b.grade &&
    a.identityMethod === b.identityMethod &&
    a.assurance === b.assurance &&
    a.maxDelegationDepth === b.maxDelegationDepth
  )
}

/**
 * Whether everything that a certificate states is still true, or has become better. A lost verification makes it untrue even if
 * the grade stays the same, because the certificate names the provider.
 * @param at milliseconds since 1970
 */
export function stillHolds(certified: CertifiedState, current: CurrentState, at: number): boolean {
  if (certified.keySequence !== current.keySequence) return false
  if (certified.maxDelegationDepth > current.maxDelegationDepth) return false
  // Grades are letters, and A is the best.
  if (current.grade > certified.grade) return false
  return isStillVerified(certified, current.verifications, at)
}

/** Whether the verification that a certificate states is still there. @param at milliseconds since 1970 */
function isStillVerified(
  { identityMethod, assurance }: CertifiedState,
  verifications: readonly VerificationEvidence[],
  at: number,
): boolean {
  if (identityMethod === null || assurance === null) return true
  return verifications.some(
    (each) =>
      each.provider === identityMethod &&
      isCurrent(each, at) &&
      ASSURANCES.indexOf(each.assurance) >= ASSURANCES.indexOf(assurance),
  )
}
