import type { ErrorCode } from '@countersign/protocol'
import { isScim } from '../scim-errors.ts'
import type { Rate } from './quota.ts'
import { isCheckPage, isExempt, type RouteInfo } from './route-info.ts'

/** A rate limit. Its quota is the setting of the same name (RATE_LIMITS). */
export interface RateLimit {
  readonly name: string
  /** `shared`: all nodes count together, at the cost of a query. `local`: each node counts its own requests. */
  readonly scope: 'shared' | 'local'
  /** Whose requests are counted together. */
  readonly by: 'address' | 'session' | 'token' | 'bearer' | 'organisation'
  /** The errors of which it counts the requests. Null: it counts every request. */
  readonly failures: readonly ErrorCode[] | null
  /** Whether it refuses only requests that fail. Identity providers share addresses: a valid token must pass. */
  readonly sparesSuccess?: true
}

function limit<N extends string>(
  name: N,
  scope: RateLimit['scope'],
  by: RateLimit['by'],
  failures: RateLimit['failures'] = null,
): RateLimit & { readonly name: N } {
  return { name, scope, by, failures }
}

const LIMITS = {
  mint: limit('mint', 'shared', 'session'),
  mintBatches: limit('mint-batches', 'shared', 'session'),
  mintAddress: limit('mint-address', 'shared', 'address'),
  claims: limit('claims', 'local', 'address'),
  // An unknown token, or a wrong signature.
  failedClaims: limit('failed-claims', 'shared', 'address', ['INVALID_SIGNATURE', 'NOT_FOUND']),
  // Not unknown tokens: anyone can invent a new one for each request.
  failedClaimsToken: limit('failed-claims-token', 'shared', 'token', ['INVALID_SIGNATURE']),
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
  reports: limit('reports', 'shared', 'address'),
  invitations: limit('invitations', 'shared', 'organisation'),
  scim: limit('scim', 'local', 'bearer'),
  failedScim: {
    ...limit('failed-scim', 'shared', 'address', ['UNAUTHENTICATED']),
    sparesSuccess: true,
  },
} as const

/** Key directories of strangers that are read for a visitor of `/check/request`. */
export const DIRECTORY_READS: RateLimit = LIMITS.directories

/** Invitations of an organisation, counted once a member of it has asked: strangers must not use up its quota. */
export const INVITATIONS: RateLimit = LIMITS.invitations

/** New agents that workloads of an owner enrol, counted in the transaction that makes them, in the database. Always in force. */
export const ENROLMENTS = 'enrolments'

/** Reports about requests to one host and about one agent, counted like `ENROLMENTS`. */
export const HOST_REPORTS = 'reports-host'
export const AGENT_REPORTS = 'reports-agent'

export const RATE_LIMIT_NAMES: readonly string[] = [
  ...Object.values(LIMITS).map(({ name }) => name),
  ENROLMENTS,
  HOST_REPORTS,
  AGENT_REPORTS,
]

/**
 * Limits that apply without the preview `rate-limit`: to creating and opening accounts, to pictures that are rendered, to key directories
 * that are read for strangers, to checkpoints of other logs, each of which is written to the disk, to invitations, which send e-mails, to
 * reports, and to SCIM.
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
    LIMITS.reports,
    LIMITS.scim,
    LIMITS.failedScim,
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
  beginOrganisationSignIn: [signIns],
  signInByLink: [signIns],
  signInByRecoveryCode: [signIns, LIMITS.recoveryCodes],
  signUpOptions: [signUps],
  signUp: [signUps],
  signUpByProvider: [signUps],
  preview: [LIMITS.reads, LIMITS.pictures],
  checkChannel: [changes, LIMITS.channelChecks],
  signAgentCard: [changes, LIMITS.channelChecks],
  checkOrganisationDomain: [changes, LIMITS.channelChecks],
  createEnrolmentRule: [changes, LIMITS.channelChecks],
  changeEnrolmentRule: [changes, LIMITS.channelChecks],
  testEnrolmentRule: [changes, LIMITS.channelChecks],
  // A broken pod behind a shared address must not end all others.
  enrol: [],
  endEnrolment: [],
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
  requestApproval: [verifications],
  rotateKey: [verifications],
  recoverKey: [verifications],
  vetoRecovery: [verifications],
  reportKey: [verifications],
  createReport: [LIMITS.reports],
  addCheckpoint: [LIMITS.witness],
}

/** The rate limits of a route; none for health checks, preflights, suspension, revocation and delegation. */
export function rateLimitsOf(route: RouteInfo): readonly RateLimit[] {
  const { operationId, method } = route
  if (operationId === 'lookup' || operationId === 'identify') return [LIMITS.reads]
  if (isExempt(route)) return []
  if (isScim(route.url)) return [LIMITS.scim, LIMITS.failedScim]
  const own = LIMITS_BY_OPERATION[operationId ?? '']
  if (own !== undefined) return own
  if (method === 'GET') return [LIMITS.reads]
  return isCheckPage(route) ? [verifications] : [changes]
}
