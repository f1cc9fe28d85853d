import { decodeBase64Url, decodeKey, encodeBase64Url, keyThumbprint } from '@countersign/protocol'
import type { NonceStore, UsedNonce } from '@countersign/protocol/signed-request-types'
import { CountersignError } from '../errors.ts'
import { checkedAnswer, isSignedChallenge, type SignedChallenge } from '../keys/signed-challenge.ts'
import type { ChallengeNonces } from './challenge-nonces.ts'
import type { Macs } from './hmac.ts'

const RANDOM_BYTES = 16
/** As many as 16 bytes have in base64url. */
const BOOT_ID_CHARACTERS = 22
/** A caller that asks for many challenges does not move their expiry further than this. */
const MAX_DELAY_MS = 1_000
const TIME_BYTES = 8
const MAC_BYTES = 32
/** Nothing else that the secret of a site signs begins so: session tokens begin with `eyJ`. */
const PURPOSE = 'agent-challenge-v1'

/** Options of `signedNonces`. */
interface SignedNoncesOptions {
  readonly audience: string
  readonly macs: Macs
  /** The nonces that were used. */
  readonly used: NonceStore
  readonly lifetimeMs: number
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/**
 * Nonces that carry their own expiry and a MAC, so that nothing is stored until an agent has signed one: strangers who only ask
 * for challenges use no memory, and any process with the same secret accepts the answer. Bytes: 16 random ones, the expiry in
 * milliseconds (64 bits, big-endian), HMAC-SHA256. While the store of used nonces could not tell otherwise that a challenge is younger
 * than its memory, the first 16 bytes are those of `used.challenge()`, and the expiry is another one for each challenge.
 */
export function signedNonces(options: SignedNoncesOptions): ChallengeNonces {
  const { audience, macs, used, lifetimeMs, now } = options
  const textOf = (head: string) => `${PURPOSE}\n${audience}\n${head}`
  let lastExpiry = 0
  return {
    async issue() {
      const bytes = new Uint8Array(RANDOM_BYTES + TIME_BYTES + MAC_BYTES)
      const bootId = decodeBase64Url(used.challenge?.()?.slice(0, BOOT_ID_CHARACTERS) ?? '')
      let expiry = Math.floor(now()) + lifetimeMs
      const unique = Math.max(expiry, lastExpiry + 1)
      if (bootId?.length === RANDOM_BYTES && unique - expiry <= MAX_DELAY_MS) {
        bytes.set(bootId)
        lastExpiry = expiry = unique
      } else crypto.getRandomValues(bytes.subarray(0, RANDOM_BYTES))
      new DataView(bytes.buffer).setBigUint64(RANDOM_BYTES, BigInt(expiry))
      const head = bytes.subarray(0, RANDOM_BYTES + TIME_BYTES)
      bytes.set(await macs.sign(textOf(encodeBase64Url(head))), head.length)
      return encodeBase64Url(bytes)
    },
    async redeem(nonce, answer) {
      const bytes = decodeBase64Url(nonce)
      if (bytes?.length !== RANDOM_BYTES + TIME_BYTES + MAC_BYTES) return false
      const head = bytes.subarray(0, RANDOM_BYTES + TIME_BYTES)
      const mac = bytes.slice(head.length)
      if (!(await macs.verify(textOf(encodeBase64Url(head)), mac))) return false
      const expiresAt = Number(new DataView(bytes.buffer).getBigUint64(RANDOM_BYTES))
      if (expiresAt <= now()) return false
      const boot = encodeBase64Url(bytes.subarray(0, RANDOM_BYTES))
      const times = { createdAt: expiresAt - lifetimeMs, expiresAt }
      return recordOnce(used, nonce, answer, { nonce: `${boot}${nonce}`, ...times })
    },
  }
}

/** Verified before it is recorded, so that only holders of a key use the store, each a limited share of it. */
async function recordOnce(
  used: NonceStore,
  nonce: string,
  answer: SignedChallenge,
  entry: Pick<UsedNonce, 'nonce' | 'createdAt' | 'expiresAt'>,
): Promise<boolean> {
  if (!(await isSignedChallenge(checkedAnswer(answer)))) {
    const message = 'The signature does not match this challenge and key.'
    throw new CountersignError('INVALID_SIGNATURE', message)
  }
  const keyid = keyThumbprint(decodeKey(answer.publicKey) as Uint8Array)
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(nonce))
  const hash = encodeBase64Url(new Uint8Array(digest))
  const outcome = await used.record({ keyid, hash, ...entry })
  if (outcome === 'fresh' || outcome === 'used') return outcome === 'fresh'
  const message = 'The store of used challenges is not available at the moment. Try again later.'
  throw new CountersignError('UNAVAILABLE', message)
}
