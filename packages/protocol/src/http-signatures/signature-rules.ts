import { sha256 } from '@noble/hashes/sha2.js'
import { encodeBase64Url, utf8 } from '../encoding.ts'
import { NONCE } from './accept-signature.ts'
import { type CoveredParts, isSafeMethod, strictNames } from './components.ts'
import type { SignatureInput } from './signature-input.ts'
import type {
  NonceOutcome,
  NonceStore,
  SignatureReason,
  SignatureRules,
} from './signed-request-types.ts'

/** How far ahead of this clock a signature may have been made, in seconds. */
export const MAX_CLOCK_SKEW = 30
/** How long a signature by an agent may be valid, in seconds. No nonce is remembered for longer after it was created. */
export const MAX_LIFETIME = 300
/** How long a signature by a key of a directory may be valid, in seconds: 24 hours (draft-meunier-webbotauth-httpsig-protocol). */
export const MAX_DIRECTORY_LIFETIME = 86_400

/** The rules for agents of the service, and for keys that nobody has listed. */
export const AGENT_RULES: SignatureRules = { profile: 'strict', maxLifetimeSeconds: MAX_LIFETIME }

/** A nonce of the profile `wba`: base64 in either alphabet, with or without padding, at most 1 KiB. */
const WBA_NONCE = /^[A-Za-z0-9+/_-]{1,1024}={0,2}$/

/** Whether a signature covers a component. @param name as in `Signature-Input`, without quotes */
export function covers({ components }: SignatureInput, name: string): boolean {
  return components.some((each) => each.name === name)
}

/**
 * Whether a signature covers what its profile requires of this request.
 * @param agentHeaders of the deployment, in lower case; the first one is the identification header
 */
export function coversEnough(
  { profile }: SignatureRules,
  request: CoveredParts,
  input: SignatureInput,
  agentHeaders: readonly string[],
): boolean {
  if (profile === 'wba' && isSafeMethod(request.method)) {
    return covers(input, '@authority') || covers(input, '@target-uri')
  }
  const [idHeader] = agentHeaders
  for (const name of strictNames(request, agentHeaders)) {
    if (name !== idHeader && !covers(input, name)) return false
  }
  // `@query` has the same value for a lone `?` as for no query.
  return request.hasQuery || !covers(input, '@query')
}

/** Whether a signature is valid for longer than its rules allow, or has no lifetime. */
export function exceedsLifetime(
  { maxLifetimeSeconds }: SignatureRules,
  { created, expires }: SignatureInput,
): boolean {
  if (created === null || expires === null || expires <= created) return true
  return expires - created > maxLifetimeSeconds
}

/** @param now in milliseconds since 1970 */
export function timesFault(
  rules: SignatureRules,
  input: SignatureInput,
  now: number,
): SignatureReason | null {
  if (exceedsLifetime(rules, input)) return 'lifetime'
  const seconds = now / 1000
  if ((input.created ?? 0) > seconds + MAX_CLOCK_SKEW) return 'not-yet-valid'
  // With the bounded lifetime, this bounds the age of `created` too.
  return (input.expires ?? 0) < seconds ? 'expired' : null
}

/**
 * Records the nonce of a verified signature. In the profile `wba`, requests that change nothing may have none. A nonce is remembered
 * for `MAX_LIFETIME` after `created`, so that signatures of a day do not fill the store: of an older signature, nobody can tell.
 * @param keys by their thumbprints the one that has signed, and the one whose share of the store the nonce takes. Computed, not cut out of
 *   the header, so that a stored nonce does not keep the whole header in memory
 * @param now in milliseconds since 1970
 * @returns a promise if the store does
 */
export function recordNonce(
  nonces: NonceStore | null,
  { profile }: SignatureRules,
  method: string,
  { nonce, created, expires }: SignatureInput,
  { keyid, shareOf }: { readonly keyid: string; readonly shareOf: string },
  now: number,
): Replay | Promise<Replay> {
  const isWba = profile === 'wba'
  if (nonce === null && isWba && isSafeMethod(method)) return 'unchecked'
  if (nonce === null || !(isWba ? WBA_NONCE : NONCE).test(nonce)) return 'nonce'
  if (nonces === null) return 'unchecked'
  const createdAt = (created ?? 0) * 1000
  const rememberedUntil = Math.min((expires ?? 0) * 1000, createdAt + MAX_LIFETIME * 1000)
  if (now > rememberedUntil) return replayOf('unchecked', method)
  const entry = {
    keyid: shareOf,
    nonce,
    hash: encodeBase64Url(sha256(utf8(`${keyid} ${nonce}`))),
    createdAt,
    expiresAt: rememberedUntil + MAX_CLOCK_SKEW * 1000,
  }
  try {
    const outcome = nonces.record(entry)
    if (typeof outcome === 'string') return replayOf(outcome, method)
    return Promise.resolve(outcome).then(
      (each) => replayOf(each, method),
      () => replayOf('unchecked', method),
    )
  } catch {
    return replayOf('unchecked', method)
  }
}

/** Whether a request was not sent before, or why it does not count. */
export type Replay = SignatureReason | 'checked' | 'unchecked'

function replayOf(outcome: NonceOutcome, method: string): Replay {
  if (outcome === 'used') return 'replay'
  if (outcome === 'share-exceeded') return 'too-many-requests'
  if (outcome === 'fresh') return 'checked'
  return isSafeMethod(method) ? 'unchecked' : 'replay-unchecked'
}
