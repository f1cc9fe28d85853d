import { CodedError, keyEncodingFault } from '@countersign/protocol'
import sodium from 'sodium-native'
import { deferWork } from '../base/loop-turn.ts'
import { sha256 } from '../base/sha256.ts'

/** Other events are not delayed for longer by each batch. */
const BATCH_MS = 5
/** About two milliseconds of work: a queue of this length is always verified. */
const SHORT_QUEUE = 64
/** A client that has waited longer is better served by a retry than by a late answer to all behind it. */
const MAX_WAIT_MS = 1000
const RETRY_AFTER_SECONDS = 1

/**
 * Verifies Ed25519 signatures (RFC 8032) with libsodium, which rejects malleable signatures and small-order keys. Verifies
 * those requested in one turn of the event loop together, which keeps the code in the processor's caches. Callers bound
 * how many may wait.
 */
export class Ed25519Verifier {
  #waiting: Check[] = []

  /**
   * @param publicKey 32 bytes
   * @param signature 64 bytes
   * @returns false for any invalid signature, key or length
   * @throws CodedError UNAVAILABLE if it would wait for more than a second behind others
   */
  verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): Promise<boolean> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) deferWork(() => this.#verifyBatch())
      const requestedAt = performance.now()
      this.#waiting.push({ publicKey, message, signature, requestedAt, resolve, reject })
    })
  }

  #verifyBatch(): void {
    const began = performance.now()
    const queue = this.#waiting
    let done = 0
    for (; done < queue.length && performance.now() - began < BATCH_MS; done++) {
      const { publicKey, message, signature, requestedAt, resolve, reject } = queue[done] as Check
      const isLate = queue.length - done > SHORT_QUEUE && began - requestedAt > MAX_WAIT_MS
      if (isLate) reject(lateError())
      else resolve(isValidSignature(publicKey, message, signature))
    }
    queue.splice(0, done)
    if (queue.length > 0) deferWork(() => this.#verifyBatch())
  }
}

function lateError(): CodedError {
  return new CodedError(
    'UNAVAILABLE',
    'Too many verifications at once. Nothing was done: try again in a second.',
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  )
}

interface Check {
  readonly publicKey: Uint8Array
  readonly message: Uint8Array
  readonly signature: Uint8Array
  readonly requestedAt: number
  resolve(valid: boolean): void
  reject(error: CodedError): void
}

/** `Ed25519Verifier.verify` at once. libsodium ignores bytes after the 64th, so the length is checked here. */
export function isValidSignature(
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  if (signature.length !== 64 || publicKey.length !== 32) return false
  return sodium.crypto_sign_verify_detached(
    signature as Buffer,
    message as Buffer,
    publicKey as Buffer,
  )
}

/**
 * Whether a public key may be certified: canonical encoding, on the curve, in the prime-order subgroup.
 * @param publicKey 32 bytes
 */
export function isCertifiableKey(publicKey: Uint8Array): boolean {
  return (
    keyEncodingFault(publicKey) === null &&
    sodium.crypto_core_ed25519_is_valid_point(publicKey as Buffer)
  )
}

/** RFC 8032 section 7.1, test 2. */
const TEST_VECTOR = {
  publicKey: '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
  message: '72',
  signature:
    '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
}

/**
 * Tests the library with a known signature and two known forgeries. Run it before the service verifies anything.
 * @throws Error if any result is wrong
 */
export function selfTestEd25519(): void {
  const hex = (text: string) => Buffer.from(text, 'hex')
  const key = hex(TEST_VECTOR.publicKey)
  const signature = hex(TEST_VECTOR.signature)
  const smallOrder = Buffer.concat([Buffer.from([1]), Buffer.alloc(31)])
  const zeroSignature = Buffer.concat([smallOrder, Buffer.alloc(32)])
  const isCorrect =
    isValidSignature(key, hex(TEST_VECTOR.message), signature) &&
    !isValidSignature(key, hex('73'), signature) &&
    !isValidSignature(smallOrder, hex(TEST_VECTOR.message), zeroSignature) &&
    isCertifiableKey(key) &&
    !isCertifiableKey(smallOrder)
  if (!isCorrect)
    throw new Error('The Ed25519 self-test failed. This machine cannot verify signatures.')
}

/** The JWK thumbprint of a key (RFC 7638) as 32 bytes. Takes a third of the time of `keyThumbprint`, which runs anywhere. */
export function thumbprintBytes(publicKey: Uint8Array): Uint8Array {
  const x = Buffer.from(publicKey).toString('base64url')
  return sha256(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`)
}
