import { decodeKey, encodeBase64Url, keyThumbprint } from '@countersign/protocol'
import type { NonceStore, UsedNonce } from '@countersign/protocol/signed-request-types'
import { CountersignError } from '../errors.ts'
import { checkedAnswer, isSignedChallenge, type SignedChallenge } from '../keys/signed-challenge.ts'
import type { ChallengeNonces } from './challenge-nonces.ts'
import { decodeBase64Url, type Macs } from './hmac.ts'

const RANDOM_BYTES = 16
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
 * milliseconds (64 bits, big-endian), HMAC-SHA256.
 */
export function signedNonces(options: SignedNoncesOptions): ChallengeNonces {
  const { audience, macs, used, lifetimeMs, now } = options
  const textOf = (head: string) => `${PURPOSE}\n${audience}\n${head}`
  return {
    async issue() {
      const bytes = new Uint8Array(RANDOM_BYTES + TIME_BYTES + MAC_BYTES)
      crypto.getRandomValues(bytes.subarray(0, RANDOM_BYTES))
      new DataView(bytes.buffer).setBigUint64(RANDOM_BYTES, BigInt(now() + lifetimeMs))
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
      return recordOnce(used, nonce, answer, { createdAt: expiresAt - lifetimeMs, expiresAt })
    },
  }
}

/** Verified before it is recorded, so that only holders of a key use the store, each a limited share of it. */
async function recordOnce(
  used: NonceStore,
  nonce: string,
  answer: SignedChallenge,
  times: Pick<UsedNonce, 'createdAt' | 'expiresAt'>,
): Promise<boolean> {
  if (!(await isSignedChallenge(checkedAnswer(answer)))) {
    const message = 'The signature does not match this challenge and key.'
    throw new CountersignError('INVALID_SIGNATURE', message)
  }
  const keyid = keyThumbprint(decodeKey(answer.publicKey) as Uint8Array)
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(nonce))
  const hash = encodeBase64Url(new Uint8Array(digest))
  const outcome = await used.record({ keyid, hash, ...times })
  if (outcome === 'fresh' || outcome === 'used') return outcome === 'fresh'
  const message = 'The store of used challenges is not available at the moment. Try again later.'
  throw new CountersignError('UNAVAILABLE', message)
}
