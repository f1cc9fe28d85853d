import { constants, type KeyObject, verify } from 'node:crypto'
import {
  checkTokenBinding,
  type PlatformAlgorithm,
  type PlatformToken,
  PlatformTokenError,
  readPlatformToken,
  type TokenBinding,
} from '@countersign/protocol'
import type { Site } from '../../base/site.ts'
import type { EnrolmentRuleRow } from '../../database/schema/enrolment-rows.ts'
import type { FoundKeys, PlatformKeys } from './platform-keys.ts'
import { checkClaims, expectedOf, keysOf } from './read-rule.ts'

export interface VerifyTokenDeps {
  readonly site: Site
  readonly platformKeys: PlatformKeys
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number
}

/** A platform token that a rule accepts. */
export interface AcceptedToken extends TokenBinding {
  readonly claims: PlatformToken['claims']
  /** The label of the agent. */
  readonly agentId: string
  /** When the keys of the issuer were read, in milliseconds since the Unix epoch; null: the rule has them. */
  readonly keysReadAt: number | null
  /** Why they could not be read again; null: they could, or need not be. */
  readonly keysProblem: string | null
}

/**
 * Verifies a platform token by a rule. The checks run in the order of `TOKEN_CHECKS`, and what costs little comes before any request.
 * @param token for which `isPlatformToken` is true
 * @param thumbprint of the key that enrols
 * @throws PlatformTokenError that names the first check that failed; PlatformKeysError, CodedError UNAVAILABLE
 */
export async function verifyToken(
  deps: VerifyTokenDeps,
  rule: EnrolmentRuleRow,
  token: string,
  thumbprint: string,
): Promise<AcceptedToken> {
  const read = readPlatformToken(token)
  const nowSeconds = Math.floor(deps.now() / 1000)
  const binding = checkTokenBinding(read, expectedOf(deps.site, rule), thumbprint, nowSeconds)
  const { readAt, problem } = await assertSigned(deps, rule, read, token)
  const { claims } = read
  const agentId = checkClaims(rule, claims)
  return { ...binding, claims, agentId, keysReadAt: readAt, keysProblem: problem }
}

/** @throws PlatformTokenError `unknown-key`, `signature`, and errors of `PlatformKeys.find` */
async function assertSigned(
  { platformKeys }: Pick<VerifyTokenDeps, 'platformKeys'>,
  rule: EnrolmentRuleRow,
  { keyId, algorithm }: PlatformToken,
  token: string,
): Promise<Pick<FoundKeys, 'readAt' | 'problem'>> {
  const source = { issuer: rule.issuer, trust_domain: rule.trust_domain, keys: keysOf(rule) }
  const { keys, ...found } = await platformKeys.find(source, keyId, algorithm)
  if (keys.length === 0) {
    throw new PlatformTokenError(
      'unknown-key',
      'The issuer has no key that could have signed this token.',
    )
  }
  // Two keys of a set may have one name.
  if (keys.some(({ key }) => isSignature(token, algorithm, key))) return found
  throw new PlatformTokenError('signature', 'The signature of the token does not verify.')
}

/** How the families of RFC 7518 sections 3.3 to 3.5 are verified. */
const FAMILIES = {
  RS: { padding: constants.RSA_PKCS1_PADDING },
  PS: {
    padding: constants.RSA_PKCS1_PSS_PADDING,
    saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
  },
  ES: { dsaEncoding: 'ieee-p1363' },
} as const

/**
 * Whether a key has signed a token. It decides at once: verifications that end one by one on other threads would each be committed in
 * a transaction of its own, instead of all those of a burst in one.
 */
function isSignature(token: string, algorithm: PlatformAlgorithm, key: KeyObject): boolean {
  const end = token.lastIndexOf('.')
  const signature = Buffer.from(token.slice(end + 1), 'base64url')
  const family = algorithm.slice(0, 2) as keyof typeof FAMILIES
  const hash = `sha${algorithm.slice(2)}`
  return verify(hash, Buffer.from(token.slice(0, end)), { key, ...FAMILIES[family] }, signature)
}
