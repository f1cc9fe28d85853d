import { isAlwaysAnswered, type RouteInfo } from './route-class.ts'

/** What a limit counts, and for whom. How much it allows is the host's setting of the same name (RATE_LIMITS). */
export interface Limit {
  readonly name: string
  /** By all nodes together, or by each for itself, which costs no question to anybody. */
  readonly counted: 'together' | 'apart'
  readonly by: 'address' | 'session' | 'token'
  /** `failures`: of claims those whose token is unknown or whose signature is wrong. */
  readonly counts: 'requests' | 'failures'
}

function limit<N extends string>(
  name: N,
  counted: Limit['counted'],
  by: Limit['by'],
  counts: Limit['counts'] = 'requests',
): Limit & { readonly name: N } {
  return { name, counted, by, counts }
}

const LIMITS = {
  mint: limit('mint', 'together', 'session'),
  mintAddress: limit('mint-address', 'together', 'address'),
  claims: limit('claims', 'apart', 'address'),
  failedClaims: limit('failed-claims', 'together', 'address', 'failures'),
  failedClaimsToken: limit('failed-claims-token', 'together', 'token', 'failures'),
  signIns: limit('sign-ins', 'together', 'address'),
  recoveryCodes: limit('recovery-codes', 'together', 'address'),
  signUps: limit('sign-ups', 'together', 'address'),
  channelChecks: limit('channel-checks', 'together', 'session'),
  verifications: limit('verifications', 'apart', 'address'),
  reads: limit('reads', 'apart', 'address'),
  changes: limit('changes', 'apart', 'address'),
} as const

export const LIMIT_NAMES: readonly string[] = Object.values(LIMITS).map(({ name }) => name)

const { signIns, signUps, verifications, changes } = LIMITS

const LIMITS_OF: Readonly<Record<string, readonly Limit[]>> = {
  issueToken: [LIMITS.mintAddress, LIMITS.mint],
  claim: [LIMITS.claims, LIMITS.failedClaims, LIMITS.failedClaimsToken],
  passkeySignInOptions: [signIns],
  signInWithPasskey: [signIns],
  beginProviderSignIn: [signIns],
  signInByLink: [signIns],
  signInByRecoveryCode: [signIns, LIMITS.recoveryCodes],
  signUpOptions: [signUps],
  signUp: [signUps],
  signUpByProvider: [signUps],
  checkChannel: [changes, LIMITS.channelChecks],
  verify: [verifications],
  challengeRuntime: [verifications],
  answerRuntime: [verifications],
}

/** The limits that a route is under. What costs next to nothing, and taking an agent back, is under none. */
export function limitsOf(route: RouteInfo): readonly Limit[] {
  const { operationId, url, method } = route
  if (operationId === 'lookup' || operationId === 'identify') return [LIMITS.reads]
  if (isAlwaysAnswered(route)) return []
  const own = LIMITS_OF[operationId ?? '']
  if (own !== undefined) return own
  if (method === 'GET') return [LIMITS.reads]
  return url === '/check' ? [verifications] : [changes]
}
