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

export interface RuntimeChallengeDeps {
  readonly site: Site
  readonly pepper: Pepper
  readonly now: () => number
  readonly randomBytes: (count: number) => Uint8Array
}

/** How long a challenge can be answered. */
const LIFETIME_MS = 5 * 60_000
/** The end in milliseconds since 1970, randomness, and the authentication of both. */
const END_BYTES = 6
const RANDOM_BYTES = 16
const MAC_BYTES = 32
const SAID_BYTES = END_BYTES + RANDOM_BYTES
/** Bytes in threes are base64url without a spare bit: there is one spelling. */
const NONCE_LENGTH = ((SAID_BYTES + MAC_BYTES) / 3) * 4

/**
 * A challenge for one agent. Its nonce says until when it is good and authenticates itself, so that a stranger who asks
 * for one makes no row.
 */
export function newRuntimeChallenge(deps: RuntimeChallengeDeps, did: Did): RuntimeChallenge {
  const { site, now, randomBytes } = deps
  const expiresAt = now() + LIFETIME_MS
  const said = Buffer.concat([Buffer.alloc(END_BYTES), randomBytes(RANDOM_BYTES)])
  said.writeUIntBE(expiresAt, 0, END_BYTES)
  const nonce = encodeBase64Url(Buffer.concat([said, macOf(deps, did, said)]))
  const challenge = formatChallenge(site.naming, { audience: site.baseUrl, nonce })
  return { challenge, expiresAt: timestamp(expiresAt) }
}

/**
 * The nonce of a challenge that has the form of ours. Costs nothing, so it comes before anything is looked up.
 * @throws CodedError VALIDATION_ERROR
 */
export function nonceOfOurs({ site }: Pick<RuntimeChallengeDeps, 'site'>, text: string): Buffer {
  const challenge = parseChallenge(site.naming, text)
  if (challenge?.audience === site.baseUrl && challenge.nonce.length === NONCE_LENGTH) {
    return Buffer.from(challenge.nonce, 'base64url')
  }
  throw new CodedError(
    'VALIDATION_ERROR',
    `This is no challenge of this service: one begins with ${site.naming.challengePrefix}${site.baseUrl}: and comes from POST …/runtime/challenge.`,
  )
}

/**
 * Checks that a nonce was made here, for this agent, and that it is still good.
 * @throws CodedError VALIDATION_ERROR, TOKEN_EXPIRED
 */
export function requireGoodNonce(deps: RuntimeChallengeDeps, did: Did, nonce: Buffer): void {
  const said = nonce.subarray(0, SAID_BYTES)
  if (!timingSafeEqual(nonce.subarray(SAID_BYTES), macOf(deps, did, said))) {
    throw new CodedError('VALIDATION_ERROR', 'This challenge was not made for this agent.')
  }
  if (said.readUIntBE(0, END_BYTES) <= deps.now()) {
    throw new CodedError(
      'TOKEN_EXPIRED',
      'This challenge is over after 5 minutes: ask for another.',
    )
  }
}

function macOf({ site, pepper }: RuntimeChallengeDeps, did: Did, said: Buffer): Uint8Array {
  return pepper.authenticate('runtime challenge', `${did}|${site.baseUrl}|${said.toString('hex')}`)
}
