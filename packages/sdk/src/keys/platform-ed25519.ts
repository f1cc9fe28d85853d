import { utf8 } from '@countersign/protocol'
import { type NodeBuiltin, nodeBuiltin } from '../runtime.ts'
import { pkcs8Of } from './pkcs8.ts'
import type { Ed25519 } from './signer.ts'

const ALGORITHM = 'Ed25519'
/** DER of a public key up to its 32 bytes (RFC 8410 section 4). */
const SPKI_HEAD = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00]

/** A signature by RFC 8032, and one whose R has a part of order 8, which only the equation with the cofactor accepts. */
const SELF_TEST = {
  key: '6kpsY+KcUgq+9VB7Ey7F+ZVHdq6+vnuSQh7qaRRG0iw=',
  message: utf8('self-test'),
  signatures: [
    [
      'BTTtNiLIYMfPB5KYc7jp/XloRYhNmoQ9JPkNIzouKy1GzMiPhTeJaD0Dj7JvzReUqm4aVfm2uiymE9kKtH3PAw==',
      true,
    ],
    [
      '5aNp4fAjvz20SeryKbB3yMKDtzRqdJgPVkEe+44OOJlWVBvd0lEfeI3aoGmsZ+6AyMR4h4RSvY7JsVk50T+xBw==',
      false,
    ],
  ],
} as const

let chosen: Promise<Ed25519> | undefined

/**
 * In Node libsodium, if the application has installed the package sodium-native, or node:crypto. Else WebCrypto; in JavaScript where
 * none of them has an Ed25519 that passes `agrees`.
 */
export function platformEd25519(): Promise<Ed25519> {
  chosen ??= firstOf([sodiumEd25519(), nodeEd25519(), webEd25519])
  return chosen
}

/** The first of these that decides as libsodium does, else `portableEd25519`. */
export async function firstOf(candidates: readonly (Ed25519 | null)[]): Promise<Ed25519> {
  for (const each of candidates) {
    if (each !== null && (await agrees(each).catch(() => false))) return each
  }
  return (await import('./portable-ed25519.ts')).portableEd25519
}

/** Verifies by libsodium, which takes half the time. Null outside Node, and where sodium-native is not installed. */
export function sodiumEd25519(): Ed25519 | null {
  const builtin = nodeBuiltin()
  const node = nodeEd25519()
  if (builtin === null || node === null) return null
  try {
    const sodium = builtin('node:module').createRequire(import.meta.url)('sodium-native')
    const together = togetherIn(builtin)
    return {
      async verifierOf(publicKey) {
        return (message, signature) =>
          together(() => sodium.crypto_sign_verify_detached(signature, message, publicKey))
      },
      signerOf: node.signerOf,
    }
  } catch {
    return null
  }
}

/** Null outside Node. */
export function nodeEd25519(): Ed25519 | null {
  const builtin = nodeBuiltin()
  if (builtin === null) return null
  const node = builtin('node:crypto')
  const together = togetherIn(builtin)
  return {
    async verifierOf(publicKey) {
      const der = Uint8Array.of(...SPKI_HEAD, ...publicKey)
      const key = node.createPublicKey({ key: der, format: 'der', type: 'spki' })
      return (message, signature) => together(() => node.verify(null, message, key, signature))
    },
    async signerOf(seed) {
      const key = node.createPrivateKey({ key: pkcs8Of(seed), format: 'der', type: 'pkcs8' })
      const spki = node.createPublicKey(key).export({ format: 'der', type: 'spki' })
      return {
        publicKey: Uint8Array.from(spki.subarray(SPKI_HEAD.length)),
        sign: async (message) => new Uint8Array(node.sign(null, message, key)),
      }
    },
  }
}

/** A turn of Node's event loop may read a thousand requests. */
const MOST_TOGETHER = 64

/**
 * Does what is asked for in one turn of the event loop at its end, one after another: each finds the code and the tables of
 * the one before in the processor's caches.
 */
function togetherIn(builtin: NodeBuiltin): (verify: () => boolean) => Promise<boolean> {
  const { setImmediate } = builtin('node:timers')
  let waiting: (() => void)[] = []
  const verifyAll = () => {
    const all = waiting
    waiting = []
    for (const verify of all) verify()
  }
  return (verify) =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) setImmediate(verifyAll)
      waiting.push(() => {
        try {
          resolve(verify())
        } catch (error) {
          reject(error)
        }
      })
      if (waiting.length >= MOST_TOGETHER) verifyAll()
    })
}

export const webEd25519: Ed25519 = {
  async verifierOf(publicKey) {
    const raw = publicKey as Uint8Array<ArrayBuffer>
    const key = await crypto.subtle.importKey('raw', raw, ALGORITHM, false, ['verify'])
    return (message, signature) =>
      crypto.subtle.verify(
        ALGORITHM,
        key,
        signature as Uint8Array<ArrayBuffer>,
        message as Uint8Array<ArrayBuffer>,
      )
  },
  async signerOf(seed) {
    const der = pkcs8Of(seed) as Uint8Array<ArrayBuffer>
    const known = await crypto.subtle.importKey('pkcs8', der, ALGORITHM, true, ['sign'])
    const { x = '' } = await crypto.subtle.exportKey('jwk', known)
    const key = await crypto.subtle.importKey('pkcs8', der, ALGORITHM, false, ['sign'])
    return {
      publicKey: bytesOf(x.replaceAll('-', '+').replaceAll('_', '/')),
      sign: async (message) =>
        new Uint8Array(
          await crypto.subtle.sign(ALGORITHM, key, message as Uint8Array<ArrayBuffer>),
        ),
    }
  },
}

/**
 * Whether a platform decides as libsodium does about signatures that have passed the checks of their encoding: the equation without
 * the cofactor (RFC 8032 section 5.1.7 allows both), for a key of prime order.
 */
async function agrees({ verifierOf }: Ed25519): Promise<boolean> {
  const verify = await verifierOf(bytesOf(SELF_TEST.key))
  const verdicts = SELF_TEST.signatures.map(([text]) => verify(SELF_TEST.message, bytesOf(text)))
  const found = await Promise.all(verdicts)
  return SELF_TEST.signatures.every(([, isValid], i) => found[i] === isValid)
}

function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (each) => each.charCodeAt(0))
}
