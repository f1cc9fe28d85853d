import { encodeBase64 } from '@countersign/protocol'
import { CountersignError } from '../errors.ts'

/** DER of a private key up to its seed (RFC 8410 section 7): version 0, id-Ed25519, two nested octet strings. */
const HEAD = [
  0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
]
/** The part of it that is the same for keys with a public key or attributes behind the seed (RFC 5958). */
const ALGORITHM = HEAD.slice(5)
const SEED_AT = HEAD.length
const SEED_LENGTH = 32

/** Encodes a private key in DER. @param seed 32 bytes */
export function pkcs8Of(seed: Uint8Array): Uint8Array {
  const der = new Uint8Array(SEED_AT + SEED_LENGTH)
  der.set(HEAD)
  der.set(seed, SEED_AT)
  return der
}

/** Encodes a private key in PEM, byte for byte as openssl does. @param seed 32 bytes */
export function pemOf(seed: Uint8Array): string {
  return `-----BEGIN PRIVATE KEY-----\n${encodeBase64(pkcs8Of(seed))}\n-----END PRIVATE KEY-----\n`
}

/**
 * Reads a private key in PEM (PKCS#8).
 * @returns its seed, 32 bytes
 * @throws CountersignError UNUSABLE_KEY if it is not an Ed25519 private key, or is encrypted
 */
export function seedOfPem(pem: string): Uint8Array {
  if (/^-----BEGIN ENCRYPTED|^Proc-Type: 4,ENCRYPTED/m.test(pem)) {
    throw unusable(
      'The key is encrypted. Decrypt it first: openssl pkey -in <file> -out <new file>',
    )
  }
  const body = /-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END PRIVATE KEY-----/.exec(pem)
  if (body === null) {
    throw unusable(
      pem.includes('BEGIN PUBLIC KEY')
        ? 'This is a public key. A private key is required.'
        : 'This is not a private key in PEM (PKCS#8).',
    )
  }
  const der = bytesOfBase64(body[1] as string)
  const seed = der && seedOfDer(der)
  if (seed === null) {
    throw unusable(
      'This is not an Ed25519 private key. Create one with countersign keygen or openssl genpkey -algorithm ed25519.',
    )
  }
  return seed
}

/** Accepts short-form lengths (up to 127 bytes): a key with its public key has 83. */
function seedOfDer(der: Uint8Array): Uint8Array | null {
  const [tag, length, versionTag, versionLength, version = 2] = der
  const framed = tag === 0x30 && length === der.length - 2 && length < 0x80
  const versioned = versionTag === 0x02 && versionLength === 1 && version <= 1
  const ed25519 = ALGORITHM.every((byte, i) => der[i + 5] === byte)
  if (!framed || !versioned || !ed25519 || der.length < SEED_AT + SEED_LENGTH) return null
  return der.slice(SEED_AT, SEED_AT + SEED_LENGTH)
}

function bytesOfBase64(text: string): Uint8Array | null {
  try {
    return Uint8Array.from(atob(text.replaceAll(/\s/g, '')), (each) => each.charCodeAt(0))
  } catch {
    return null
  }
}

export function unusable(message: string, cause?: unknown): CountersignError {
  return new CountersignError('UNUSABLE_KEY', message, cause === undefined ? {} : { cause })
}
