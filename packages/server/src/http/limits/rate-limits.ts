import type { Rate } from './quota.ts'
import { isCheckPage, isExempt, type RouteInfo } from './route-info.ts'

/** A rate limit. Its quota is the setting of the same name (RATE_LIMITS). */
export interface RateLimit {
  readonly name: string
  /** `shared`: all nodes count together, at the cost of a query. `local`: each node counts its own requests. */
  readonly scope: 'shared' | 'local'
  /** Whose requests are counted together. */
  readonly by: 'address' | 'session' | 'token' | 'organisation'
  /** `failures`: only claims with an unknown token or a wrong signature. */
  readonly counts: 'requests' | 'failures'
}

function limit<N extends string>(
  name: N,
  scope: RateLimit['scope'],
  by: RateLimit['by'],
  counts: RateLimit['counts'] = 'requests',
): RateLimit & { readonly name: N } {
  return { name, scope, by, counts }
}

const LIMITS = {
  mint: limit('mint', 'shared', 'session'),
  mintBatches: limit('mint-batches', 'shared', 'session'),
  mintAddress: limit('mint-address', 'shared', 'address'),
  claims: limit('claims', 'local', 'address'),
  failedClaims: limit('failed-claims', 'shared', 'address', 'failures'),
  failedClaimsToken: limit('failed-claims-token', 'shared', 'token', 'failures'),
  signIns: limit('sign-ins', 'shared', 'address'),
  recoveryCodes: limit('recovery-codes', 'shared', 'address'),
  signUps: limit('sign-ups', 'shared', 'address'),
  channelChecks: limit('channel-checks', 'shared', 'session'),
  verifications: limit('verifications', 'local', 'address'),
  reads: limit('reads', 'local', 'address'),
  changes: limit('changes', 'local', 'address'),
  pictures: limit('pictures', 'local', 'address'),
  directories: limit('directories', 'local', 'address'),
  witness: limit('witness', 'local', 'address'),
  invitations: limit('invitations', 'shared', 'organisation'),
} as const

/** Key directories of strangers that are read for a visitor of `/check/request`. */
export const DIRECTORY_READS: RateLimit = LIMITS.directories

/** Invitations of an organisation, counted once a member of it has asked: strangers must not use up its quota. */
export const INVITATIONS: RateLimit = LIMITS.invitations

export const RATE_LIMIT_NAMES: readonly string[] = Object.values(LIMITS).map(({ name }) => name)

/**
 * Limits that apply without the preview `rate-limit`: to creating and opening accounts, to pictures that are rendered, to key directories
 * that are read for strangers, to checkpoints of other logs, each of which is written to the disk, and to invitations, which send e-mails.
 * The endpoints of the contract never answer 429 without it.
 */
const DEFAULT_LIMITS: ReadonlySet<string> = new Set(
  [
    LIMITS.signIns,
    LIMITS.signUps,
    LIMITS.recoveryCodes,
    LIMITS.pictures,
    LIMITS.directories,
    LIMITS.witness,
    LIMITS.invitations,
  ].map(({ name }) => name),
)

/** The rates that apply. @param isPreviewOn whether the preview `rate-limit` is on */
export function ratesInForce(
  rates: ReadonlyMap<string, Rate | null>,
  isPreviewOn: boolean,
): ReadonlyMap<string, Rate | null> {
  return isPreviewOn ? rates : new Map([...rates].filter(([name]) => DEFAULT_LIMITS.has(name)))
}

const { signIns, signUps, verifications, changes } = LIMITS

const LIMITS_BY_OPERATION: Readonly<Record<string, readonly RateLimit[]>> = {
  issueToken: [LIMITS.mintAddress, LIMITS.mint],
  issueTokens: [LIMITS.mintAddress, LIMITS.mint, LIMITS.mintBatches],
  claim: [LIMITS.claims, LIMITS.failedClaims, LIMITS.failedClaimsToken],
  passkeySignInOptions: [signIns],
  signInWithPasskey: [signIns],
  beginProviderSignIn: [signIns],
  signInByLink: [signIns],
  signInByRecoveryCode: [signIns, LIMITS.recoveryCodes],
  signUpOptions: [signUps],
  signUp: [signUps],
  signUpByProvider: [signUps],
  preview: [LIMITS.reads, LIMITS.pictures],
  checkChannel: [changes, LIMITS.channelChecks],
  signAgentCard: [changes, LIMITS.channelChecks],
  checkOrganisationDomain: [changes, LIMITS.channelChecks],
  verify: [verifications],
  verifyRequest: [verifications],
  challengeRuntime: [verifications],
  answerRuntime: [verifications],
  renounce: [verifications],
  endDelegations: [verifications],
  createDelegationGroup: [verifications],
  endDelegationGroup: [verifications],
  proveDirectory: [verifications],
  issueGrant: [verifications],
  rotateKey: [verifications],
  recoverKey: [verifications],
  vetoRecovery: [verifications],
  reportKey: [verifications],
  addCheckpoint: [LIMITS.witness],
}

/** The rate limits of a route; none for health checks, preflights, suspension, revocation and delegation. */
export function rateLimitsOf(route: RouteInfo): readonly RateLimit[] {
  const { operationId, method } = route
  if (operationId === 'lookup' || operationId === 'identify') return [LIMITS.reads]
  if (isExempt(route)) return []
  const own = LIMITS_BY_OPERATION[operationId ?? '']
  if (own !== undefined) return own
  if (method === 'GET') return [LIMITS.reads]
  return isCheckPage(route) ? [verifications] : [changes]
}
