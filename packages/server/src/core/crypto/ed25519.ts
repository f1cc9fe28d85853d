import { keyEncodingFault } from '@countersign/protocol'
import sodium from 'sodium-native'

/**
 * So many signatures are checked in one turn of the event loop: about two milliseconds' worth. Whatever else has arrived
 * has its turn before the next ones.
 */
const MOST_A_TURN = 64

/**
 * Strict Ed25519 verification by libsodium. Checks that are asked for in one turn of the event loop are done
 * together, which keeps the cryptography in the processor's caches. How many may wait is for the callers to bound
 * (`http/overload/`): what a claim waits for is not used up by those who only ask.
 */
export class Ed25519Verifier {
  #waiting: Check[] = []

  /**
   * @param publicKey 32 bytes
   * @param signature 64 bytes
   */
  verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): Promise<boolean> {
    return new Promise((resolve) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#checkSome())
      this.#waiting.push({ publicKey, message, signature, resolve })
    })
  }

  #checkSome(): void {
    const checks = this.#waiting.splice(0, MOST_A_TURN)
    if (this.#waiting.length > 0) setImmediate(() => this.#checkSome())
    for (const { publicKey, message, signature, resolve } of checks) {
      resolve(isValidSignature(publicKey, message, signature))
    }
  }
}

interface Check {
  readonly publicKey: Uint8Array
  readonly message: Uint8Array
  readonly signature: Uint8Array
  resolve(valid: boolean): void
}

/** libsodium ignores what follows the 64th byte, so the length is ours to check. */
function isValidSignature(
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

/** Whether 32 bytes may be certified: canonical, on the curve, of the prime order, not small-order. */
export function isCertifiableKey(publicKey: Uint8Array): boolean {
  return (
    keyEncodingFault(publicKey) === null &&
    sodium.crypto_core_ed25519_is_valid_point(publicKey as Buffer)
  )
}

/** RFC 8032 section 7.1, test 2. */
const KNOWN = {
  publicKey: '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
  message: '72',
  signature:
    '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
}

/**
 * Tries the library with a known signature and two known forgeries before the service answers for anyone.
 * @throws Error where one of them gets the wrong answer
 */
export function selfTestEd25519(): void {
  const hex = (text: string) => Buffer.from(text, 'hex')
  const key = hex(KNOWN.publicKey)
  const signature = hex(KNOWN.signature)
  const smallOrder = Buffer.concat([Buffer.from([1]), Buffer.alloc(31)])
  const zeroSignature = Buffer.concat([smallOrder, Buffer.alloc(32)])
  const sound =
    isValidSignature(key, hex(KNOWN.message), signature) &&
    !isValidSignature(key, hex('73'), signature) &&
    !isValidSignature(smallOrder, hex(KNOWN.message), zeroSignature) &&
    isCertifiableKey(key) &&
    !isCertifiableKey(smallOrder)
  if (!sound)
    throw new Error('The Ed25519 self-test failed: this machine must not vouch for anyone.')
}
