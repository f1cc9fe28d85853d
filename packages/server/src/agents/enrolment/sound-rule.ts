import {
  assertHonestName,
  CodedError,
  type EnrolmentKeys,
  type EnrolmentRulePatch,
  type Match,
  matchProblem,
  missingPin,
} from '@countersign/protocol'
import { reservedNames } from '../../accounts/identity-of-owner.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { isPrivate, type KeySource, type PlatformKeys, PlatformKeysError } from './platform-keys.ts'

const MAX_JWKS_BYTES = 12 * 1024
const MAX_PASTED_KEYS = 20

/**
 * Checks what a rule says, without asking its issuer.
 * @throws CodedError VALIDATION_ERROR if it would accept the tokens of strangers, or says what it may not
 */
export function assertSound(
  deps: Pick<CoreDeps, 'serviceName' | 'site'>,
  { issuer, trustDomain }: { readonly issuer: string | null; readonly trustDomain: string | null },
  { keys, match, profile }: Pick<Required<EnrolmentRulePatch>, 'keys' | 'match' | 'profile'>,
): void {
  const problem =
    matchProblem(match as Match) ??
    missingPin({ issuer, trustDomain, match: match as Match }) ??
    keysProblem(keys, issuer)
  if (problem !== null) throw invalid(problem)
  for (const [name, text] of [
    ['A display name', profile.displayName],
    ['A description', profile.description],
  ] as const) {
    if (text !== null) assertHonestName(name, text, reservedNames(deps))
  }
}

function keysProblem({ discovery, jwks }: EnrolmentKeys, issuer: string | null): string | null {
  if (discovery === true && issuer === null) return 'keys: discovery needs an issuer.'
  if (jwks === undefined) return null
  if (!Array.isArray(jwks.keys) || jwks.keys.length < 1 || jwks.keys.length > MAX_PASTED_KEYS) {
    return `keys: jwks has 1 to ${MAX_PASTED_KEYS} keys.`
  }
  if (jwks.keys.some((each: unknown) => typeof each !== 'object' || each === null)) {
    return 'keys: each key of jwks is an object.'
  }
  if (jwks.keys.some((each: object) => isPrivate(each))) {
    return 'keys: jwks has a private or symmetric key. Keep it secret, and paste public keys only.'
  }
  const isTooLong = Buffer.byteLength(JSON.stringify(jwks)) > MAX_JWKS_BYTES
  return isTooLong ? 'keys: jwks has more than 12 KiB.' : null
}

/** Reads the keys of the issuer now. @throws CodedError VALIDATION_ERROR with the reason */
export async function assertKeysReadable(
  { platformKeys }: { readonly platformKeys: PlatformKeys },
  source: KeySource,
) {
  try {
    if ((await platformKeys.check(source)) > 0) return
  } catch (error) {
    if (!(error instanceof PlatformKeysError)) throw error
    throw invalid(`The keys of the issuer cannot be read. ${error.message}`)
  }
  throw invalid(
    'None of the keys can verify tokens: RSA of 2,048 to 8,192 bits, P-256, P-384 or P-521.',
  )
}

export function invalid(message: string): CodedError {
  return new CodedError('VALIDATION_ERROR', message)
}
