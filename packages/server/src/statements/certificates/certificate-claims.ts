import {
  type CertificateClaims,
  didWebOf,
  type FeedPosition,
  type Grade,
  gradeOf,
  jwkOf,
  keyThumbprint,
  type StapleClaims,
} from '@countersign/protocol'
import type { AgentView } from '../../agents/agent-record.ts'
import { didOfAgent, type Site } from '../../base/site.ts'
import { timestamp } from '../../base/timestamp.ts'
import type { LoggedKey } from '../../log/read-log.ts'
import { type StatusReference, statusListUri } from '../status-lists/status-entries.ts'

/** The path of the type metadata, which `vct` names. */
export const CERTIFICATE_TYPE_PATH = '/credentials/agent-certificate'
/** Requests for the same content within an hour get the same certificate. */
const CERTIFICATE_PERIOD_MS = 60 * 60_000
const STAPLE_PERIOD_MS = 60_000
const STAPLE_LIFETIME_MS = 15 * 60_000

export interface ClaimsInput {
  readonly site: Site
  readonly view: AgentView
  /** Milliseconds since 1970: evidence that has expired by then does not count. */
  readonly now: number
  /** Up to when the node knows the database, in milliseconds since 1970. */
  readonly knownUntil: number
}

/**
 * The claims of a certificate (SD-JWT VC without disclosures). The same content gives the same claims for an hour, on every node.
 * @param logged the entry of the agent's key in the log that this node serves; null: none yet
 */
export function certificateClaimsOf(
  { site, view, now, knownUntil }: ClaimsInput,
  { list, idx, allocatedAt }: StatusReference,
  lifetimeMs: number,
  logged: LoggedKey | null,
): Omit<CertificateClaims, 'jti'> {
  const { agent } = view
  const { keySequence, keyChangedAt, ownerChangedAt, maxDelegationDepth } = agent.profile
  const { grade, policyVersion, verification, changedAt, expiresAt } = evidenceOf(view, now)
  const issuedAt = issuedAtOf(
    Math.max(changedAt, allocatedAt),
    // The entry was read from the database after the agent.
    Math.max(knownUntil, allocatedAt),
    CERTIFICATE_PERIOD_MS,
  )
  const did = didOfAgent(site, agent.tail)
  return {
    iss: site.baseUrl,
    sub: did,
    iat: seconds(issuedAt),
    exp: seconds(Math.min(issuedAt + lifetimeMs, expiresAt)),
    vct: site.baseUrl + CERTIFICATE_TYPE_PATH,
    cnf: { jwk: jwkOf(agent.publicKey) },
    status: { status_list: { uri: statusListUri(site.baseUrl, list), idx } },
    identityMethod: verification?.provider ?? null,
    identityLevel: verification === null ? ('unverified' as const) : ('verified' as const),
    assurance: verification?.assurance ?? null,
    grade,
    policyVersion,
    keySequence,
    keyChangedAt: timestamp(keyChangedAt),
    ...(ownerChangedAt !== undefined && { ownerChangedAt: timestamp(ownerChangedAt) }),
    did_web: didWebOf(site.host, did),
    ...(maxDelegationDepth > 0 && { maxDelegationDepth }),
    // Without the checkpoint's time, which changes with each entry.
    ...(logged && { log: { origin: logged.origin, index: logged.index } }),
  }
}

/**
 * The claims of a staple: the status and grade of an agent, for 15 minutes.
 * @param feed the place in the feed before the agent was read: its status is of then, or newer
 */
export function stapleClaimsOf(
  { site, view, now, knownUntil }: ClaimsInput,
  feed: FeedPosition,
): StapleClaims {
  const { agent } = view
  const { grade, changedAt, expiresAt } = evidenceOf(view, now)
  const issuedAt = issuedAtOf(changedAt, knownUntil, STAPLE_PERIOD_MS)
  return {
    iss: site.baseUrl,
    sub: didOfAgent(site, agent.tail),
    cnf: { jkt: keyThumbprint(agent.publicKey) },
    agentStatus: agent.status,
    grade,
    feed,
    iat: seconds(issuedAt),
    exp: seconds(Math.min(issuedAt + STAPLE_LIFETIME_MS, expiresAt)),
  }
}

interface Evidence {
  readonly grade: Grade
  readonly policyVersion: number
  readonly verification: ReturnType<typeof gradeOf>['evidence']['verification']
  /** When the newest part of it became true. */
  readonly changedAt: number
  /** When its first part expires; infinite if none does. */
  readonly expiresAt: number
}

/** What a signed token says about the evidence for an agent. @param now milliseconds since 1970 */
export function evidenceOf({ agent, owner }: AgentView, now: number): Evidence {
  const { keyChangedAt, statusChangedAt, ownerChangedAt = 0, channels } = agent.profile
  const { grade, policyVersion, evidence } = gradeOf({
    status: agent.status,
    verifications: owner.verifications,
    channels,
    now,
  })
  const { verification, channel } = evidence
  return {
    grade,
    policyVersion,
    verification,
    changedAt: Math.max(
      ...[agent.claimedAt, keyChangedAt, statusChangedAt, ownerChangedAt],
      ...[verification?.verifiedAt ?? 0, channel?.checkedAt ?? 0],
    ),
    expiresAt: Math.min(verification?.expiresAt ?? Infinity, channel?.freshUntil ?? Infinity),
  }
}

/** The start of the period, unless the content changed in it; never later than what the node knows. */
function issuedAtOf(changedAt: number, knownUntil: number, periodMs: number): number {
  const start = Math.floor(knownUntil / periodMs) * periodMs
  return Math.min(Math.max(start, changedAt), knownUntil)
}

function seconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000)
}
