import {
  createECDH,
  createPrivateKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  sign as signWith,
} from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import {
  ecThumbprint,
  encodeBase64Url,
  type GrantJwk,
  type IssuerJwk,
  type JwsAlgorithm,
  jwkOf,
  keyThumbprint,
} from '@countersign/protocol'
import sodium from 'sodium-native'
import { readSharedSecret, type SecretFolders, writeSecret } from '../secrets.ts'

/** The order of the group of P-256 (FIPS 186-5, SEC 2). */
const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

/** An Ed25519 and a P-256 key pair, which sign the same tokens. */
export interface IssuerKeyPair {
  /** The thumbprint of the Ed25519 key. */
  readonly id: string
  readonly jwks: Readonly<Record<JwsAlgorithm, IssuerJwk>>
  /** @returns 64 bytes: the signature of RFC 8032, or `r ‖ s` (RFC 7518 section 3.4) */
  sign(alg: JwsAlgorithm, message: Uint8Array): Uint8Array
  /** The P-256 key pair of a grant issuer. No other issuer has it, and it signs nothing but grants. */
  ofGrantIssuer(id: string): GrantKeyPair
}

/** The key pair of a grant issuer. */
interface GrantKeyPair {
  readonly jwk: GrantJwk
  /** @returns 64 bytes: `r ‖ s` */
  sign(message: Uint8Array): Uint8Array
}

/**
 * Derives both key pairs from one secret (HKDF, RFC 5869), so that nodes have one file to share.
 * @param secret 32 random bytes
 */
function issuerKeyPairOf(secret: Uint8Array): IssuerKeyPair {
  const ed25519 = ed25519Of(derive(secret, 'issuer EdDSA', 32))
  const p256 = p256Of(derive(secret, 'issuer ES256', 48))
  return {
    id: ed25519.jwk.kid,
    jwks: { EdDSA: ed25519.jwk, ES256: p256.jwk },
    sign: (alg, message) => (alg === 'EdDSA' ? ed25519 : p256).sign(message),
    ofGrantIssuer(id) {
      const { jwk, sign } = p256Of(derive(secret, `grant ES256 ${id}`, 48))
      return { jwk: { ...jwk, alg: 'ES256' }, sign }
    },
  }
}

/** HKDF: keys with different labels tell nothing about each other. */
function derive(secret: Uint8Array, label: string, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `countersign ${label}`, length))
}

interface Signer<J extends IssuerJwk = IssuerJwk> {
  readonly jwk: J
  sign(message: Uint8Array): Uint8Array
}

function ed25519Of(seed: Buffer): Signer {
  const publicKey = Buffer.alloc(sodium.crypto_sign_PUBLICKEYBYTES)
  const secretKey = Buffer.alloc(sodium.crypto_sign_SECRETKEYBYTES)
  sodium.crypto_sign_seed_keypair(publicKey, secretKey, seed)
  return {
    jwk: { ...jwkOf(publicKey), kid: keyThumbprint(publicKey), use: 'sig' },
    sign(message) {
      const signature = Buffer.alloc(sodium.crypto_sign_BYTES)
      sodium.crypto_sign_detached(signature, message as Buffer, secretKey)
      return signature
    },
  }
}

/** @param material 48 bytes, so that the reduction has no measurable bias (FIPS 186-5 A.2.1) */
function p256Of(material: Buffer): Signer<Extract<IssuerJwk, { kty: 'EC' }>> {
  const scalar = (BigInt(`0x${material.toString('hex')}`) % (P256_ORDER - 1n)) + 1n
  const d = Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex')
  const ecdh = createECDH('prime256v1')
  ecdh.setPrivateKey(d)
  const point = ecdh.getPublicKey()
  const x = encodeBase64Url(point.subarray(1, 33))
  const y = encodeBase64Url(point.subarray(33))
  const publicJwk = { kty: 'EC', crv: 'P-256', x, y } as const
  const key: KeyObject = createPrivateKey({
    key: { ...publicJwk, d: encodeBase64Url(d) },
    format: 'jwk',
  })
  return {
    jwk: { ...publicJwk, kid: ecThumbprint({ x, y }), use: 'sig' },
    sign: (message) => signWith('sha256', message, { key, dsaEncoding: 'ieee-p1363' }),
  }
}

/** The file of a key pair. Its name says which key it must hold, so that it is never mistaken for another. */
export function issuerKeyFile(id: string): string {
  return `issuer-key-${id}`
}

const ISSUER_KEY_FILE = /^issuer-key-([A-Za-z0-9_-]{43})$/

/** @returns the id of the key pair of a file, or null if the file is of another kind */
export function issuerKeyIdOf(name: string): string | null {
  return ISSUER_KEY_FILE.exec(name)?.[1] ?? null
}

/** Makes a key pair and stores its secret in the data directory: 32 random bytes, file mode 0600. */
export function createIssuerKey(dataDir: string): IssuerKeyPair {
  const secret = randomBytes(32)
  const pair = issuerKeyPairOf(secret)
  writeSecret(dataDir, issuerKeyFile(pair.id), secret)
  return pair
}

export function deleteIssuerKey(dataDir: string, id: string): void {
  rmSync(join(dataDir, issuerKeyFile(id)), { force: true })
}

/** @returns `missing` if there is no file, `other` if it has other contents than its name says */
export function readIssuerKey(
  folders: SecretFolders,
  id: string,
): IssuerKeyPair | 'missing' | 'other' {
  let secret: Buffer | null
  try {
    secret = readSharedSecret(folders, issuerKeyFile(id))
  } catch {
    return 'other'
  }
  if (secret === null) return 'missing'
  const pair = issuerKeyPairOf(secret)
  return pair.id === id ? pair : 'other'
}
