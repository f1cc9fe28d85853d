import { timingSafeEqual } from 'node:crypto'
import { type Did, encodeBase64Url, formatChallenge, parseChallenge } from '@countersign/protocol'
import type { Site } from '../../base/site.ts'
import type { Pepper } from '../../secrets/secrets.ts'

export interface BoundChallengeDeps {
  readonly site: Site
  readonly pepper: Pepper
  readonly now: () => number
  readonly randomBytes: (count: number) => Uint8Array
}

/** What challenges are for. A challenge made for one purpose is not valid for another. */
export interface ChallengePurpose {
  readonly name: string
  /** How long a challenge can be answered. */
  readonly lifetimeMs: number
}

/** A nonce holds its expiry in milliseconds since 1970, random bytes, and the MAC of both. */
const EXPIRY_BYTES = 6
const RANDOM_BYTES = 16
const MAC_BYTES = 32
const PAYLOAD_BYTES = EXPIRY_BYTES + RANDOM_BYTES
/** The nonce's 54 bytes are a multiple of three, so that base64url has exactly one encoding of them. */
const NONCE_LENGTH = ((PAYLOAD_BYTES + MAC_BYTES) / 3) * 4

/**
 * Creates a challenge for one agent, with this service as its audience. The nonce carries its expiry and a MAC, so that
 * requests from unauthenticated clients write nothing to the database, and every node accepts it.
 */
export function newBoundChallenge(
  deps: BoundChallengeDeps,
  purpose: ChallengePurpose,
  did: Did,
): { readonly challenge: string; readonly expiresAt: number } {
  const { site, now, randomBytes } = deps
  const expiresAt = now() + purpose.lifetimeMs
  const payload = Buffer.concat([Buffer.alloc(EXPIRY_BYTES), randomBytes(RANDOM_BYTES)])
  payload.writeUIntBE(expiresAt, 0, EXPIRY_BYTES)
  const nonce = encodeBase64Url(Buffer.concat([payload, macOf(deps, purpose, did, payload)]))
  return { challenge: formatChallenge(site.naming, { audience: site.baseUrl, nonce }), expiresAt }
}

/**
 * Parses a challenge of this service. It is cheap, so it can run before any lookup.
 * @returns the nonce's 54 bytes, not yet authenticated; null if the text has another form
 */
export function parseBoundNonce(site: Site, text: string): Buffer | null {
  const challenge = parseChallenge(site.naming, text)
  const isOurs = challenge?.audience === site.baseUrl && challenge.nonce.length === NONCE_LENGTH
  return isOurs ? Buffer.from(challenge.nonce, 'base64url') : null
}

/** @returns when the nonce expires, in milliseconds since 1970; null if it was not made for this purpose and agent */
export function expiryOfNonce(
  deps: Pick<BoundChallengeDeps, 'site' | 'pepper'>,
  purpose: ChallengePurpose,
  did: Did,
  nonce: Buffer,
): number | null {
  const payload = nonce.subarray(0, PAYLOAD_BYTES)
  const isOurs = timingSafeEqual(nonce.subarray(PAYLOAD_BYTES), macOf(deps, purpose, did, payload))
  return isOurs ? payload.readUIntBE(0, EXPIRY_BYTES) : null
}

function macOf(
  { site, pepper }: Pick<BoundChallengeDeps, 'site' | 'pepper'>,
  purpose: ChallengePurpose,
  did: Did,
  payload: Buffer,
): Uint8Array {
  return pepper.authenticate(purpose.name, `${did}|${site.baseUrl}|${payload.toString('hex')}`)
}
