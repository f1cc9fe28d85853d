import type { TokenStatus, VerifiedCertificate, VerifiedStaple } from '@countersign/sdk'
import type { LookupResult } from '../decision/decide.ts'
import type { AgentData, Basis } from '../decision/decision.ts'

/** What is known of the agent of a verified certificate. */
export interface KnownStatus {
  readonly certificate: VerifiedCertificate
  /** For the same agent and key; null if there is none that verifies. */
  readonly staple: VerifiedStaple | null
  /** The entry of the status list in memory; null if the list is not known. */
  readonly listed: TokenStatus | null
  /** The age of the status lists, in milliseconds; infinite without a signed head. */
  readonly listAgeMs: number
  /** What the service said last if that was a restriction; null otherwise. */
  readonly restricted: { readonly agent: AgentData; readonly ageMs: number } | null
  /** Milliseconds since 1970. */
  readonly now: number
  readonly maxStaleSeconds: number
}

/** The result of a lookup as a certificate gives it, and what it is based on. */
export interface Evidence {
  /** The agent's key. */
  readonly publicKey: Uint8Array
  readonly lookup: LookupResult
  readonly basis: Basis
}

/** A status with its age. */
interface Statement {
  readonly status: AgentData['status']
  readonly ageMs: number
  readonly source: 'certificate' | 'staple' | 'cache'
}

/**
 * What is known of an agent without a question to the service. The newest evidence wins, a restriction before anything of the same
 * age; a restriction counts however old it is. A pure function.
 */
export function evidenceOf(known: KnownStatus): Evidence | 'certificate-replaced' {
  // For good: neither a staple nor time changes it.
  if (known.listed === 'invalid') return 'certificate-replaced'
  const { certificate, maxStaleSeconds } = known
  const { issuer, publicKey } = certificate
  const newest = newestOf(statementsOf(known))
  if (newest === null) {
    const basis = { source: null, statusAgeSeconds: null, issuer }
    return { publicKey, lookup: { kind: 'unreachable', last: null }, basis }
  }
  const { status, source, ageMs } = newest
  const agent = agentOf(known, status)
  const basis = { source, statusAgeSeconds: seconds(ageMs), issuer }
  const isCurrent = ageMs <= maxStaleSeconds * 1000 || status !== 'active'
  const lookup: LookupResult = isCurrent
    ? { kind: 'answered', agent }
    : { kind: 'unreachable', last: { agent, ageSeconds: ageMs / 1000 } }
  return { publicKey, lookup, basis }
}

function statementsOf({ staple, listed, listAgeMs, restricted, now }: KnownStatus): Statement[] {
  const statements: Statement[] = []
  // Without a signed head, only a restriction counts.
  if (listed === 'suspended' || (listed === 'valid' && Number.isFinite(listAgeMs))) {
    const status = listed === 'valid' ? 'active' : 'suspended'
    statements.push({ status, ageMs: listAgeMs, source: 'certificate' })
  }
  if (staple !== null) {
    const ageMs = Math.max(0, now - staple.issuedAt)
    statements.push({ status: staple.status, ageMs, source: 'staple' })
  }
  if (restricted !== null) {
    const { agent, ageMs } = restricted
    statements.push({ status: agent.status, ageMs, source: 'cache' })
  }
  return statements
}

/** Of two of the same age, the restriction. */
function newestOf(statements: readonly Statement[]): Statement | null {
  const rank = ({ status }: Statement) => (status === 'active' ? 1 : 0)
  const [newest] = statements.toSorted((a, b) => a.ageMs - b.ageMs || rank(a) - rank(b))
  return newest ?? null
}

function agentOf(
  { certificate, staple, now }: KnownStatus,
  status: AgentData['status'],
): AgentData {
  const { did, identityMethod, publicKey, keyThumbprint, keySequence, keyChangedAt } = certificate
  const isNewer = staple !== null && staple.issuedAt > certificate.issuedAt
  return {
    ...{ did, status, verified: status === 'active', identityMethod, keySequence },
    grade: isNewer ? staple.grade : certificate.grade,
    keyAgeSeconds: (now - Date.parse(keyChangedAt)) / 1000,
    key: { publicKey, keyid: keyThumbprint },
  }
}

/** Rounded up: the status is at most this old. Null if that is not known. */
function seconds(ms: number): number | null {
  return Number.isFinite(ms) ? Math.ceil(ms / 1000) : null
}
