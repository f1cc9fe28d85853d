import { timingSafeEqual } from 'node:crypto'
import {
  CodedError,
  type Did,
  encodeBase64Url,
  formatChallenge,
  parseChallenge,
  type RuntimeChallenge,
} from '@countersign/protocol'
import type { Pepper } from '../core/crypto/secrets.ts'
import type { Site } from '../core/site.ts'
import { timestamp } from '../core/timestamp.ts'

/** What challenges are made from. */
export interface RuntimeChallengeDeps {
  readonly site: Site
  readonly pepper: Pepper
  readonly now: () => number
  readonly randomBytes: (count: number) => Uint8Array
}

/** How long a challenge can be answered. */
const LIFETIME_MS = 5 * 60_000
/** A nonce holds its expiry in milliseconds since 1970, random bytes, and the MAC of both. */
const EXPIRY_BYTES = 6
const RANDOM_BYTES = 16
const MAC_BYTES = 32
const PAYLOAD_BYTES = EXPIRY_BYTES + RANDOM_BYTES
/** The nonce's 54 bytes are a multiple of three, so that base64url has exactly one encoding of them. */
const NONCE_LENGTH = ((PAYLOAD_BYTES + MAC_BYTES) / 3) * 4

/**
 * Creates a challenge for one agent. Its nonce carries its expiry and a MAC, so that requests from unauthenticated clients
 * write nothing to the database.
 */
export function newRuntimeChallenge(deps: RuntimeChallengeDeps, did: Did): RuntimeChallenge {
  const { site, now, randomBytes } = deps
  const expiresAt = now() + LIFETIME_MS
  const payload = Buffer.concat([Buffer.alloc(EXPIRY_BYTES), randomBytes(RANDOM_BYTES)])
  payload.writeUIntBE(expiresAt, 0, EXPIRY_BYTES)
  const nonce = encodeBase64Url(Buffer.concat([payload, macOf(deps, did, payload)]))
  const challenge = formatChallenge(site.naming, { audience: site.baseUrl, nonce })
  return { challenge, expiresAt: timestamp(expiresAt) }
}

/**
 * Parses a challenge of this service. It is cheap, so it runs before any lookup.
 * @returns the nonce's 54 bytes, not yet authenticated
 * @throws CodedError VALIDATION_ERROR if the challenge does not have this service's form
 */
export function parseNonce({ site }: Pick<RuntimeChallengeDeps, 'site'>, text: string): Buffer {
  const challenge = parseChallenge(site.naming, text)
  if (challenge?.audience === site.baseUrl && challenge.nonce.length === NONCE_LENGTH) {
    return Buffer.from(challenge.nonce, 'base64url')
  }
  throw new CodedError(
    'VALIDATION_ERROR',
    `This is not a challenge of this service. Challenges begin with ${site.naming.challengePrefix}${site.baseUrl}: and come from POST …/runtime/challenge.`,
  )
}

/**
 * Asserts that this service made a nonce for this agent and that it has not expired.
 * @throws CodedError VALIDATION_ERROR, TOKEN_EXPIRED
 */
export function assertValidNonce(deps: RuntimeChallengeDeps, did: Did, nonce: Buffer): void {
  const payload = nonce.subarray(0, PAYLOAD_BYTES)
  if (!timingSafeEqual(nonce.subarray(PAYLOAD_BYTES), macOf(deps, did, payload))) {
    throw new CodedError('VALIDATION_ERROR', 'This challenge is for another agent.')
  }
  if (payload.readUIntBE(0, EXPIRY_BYTES) <= deps.now()) {
    throw new CodedError(
      'TOKEN_EXPIRED',
      'This challenge has expired after 5 minutes. Request a new one.',
    )
  }
}

function macOf({ site, pepper }: RuntimeChallengeDeps, did: Did, payload: Buffer): Uint8Array {
  return pepper.authenticate(
    'runtime challenge',
    `${did}|${site.baseUrl}|${payload.toString('hex')}`,
  )
}
