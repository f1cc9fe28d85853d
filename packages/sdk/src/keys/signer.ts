/**
 * Signs for an agent: a key of this package, or anything with an Ed25519 key, such as a KMS. It must sign the bytes as they
 * are with pure Ed25519 (RFC 8032), not Ed25519ph.
 */
export interface Signer {
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  /** @returns the signature, 64 bytes */
  sign(message: Uint8Array): Promise<Uint8Array>
}

/** A private key as a JWK (RFC 8037). Secret. */
export interface PrivateJwk {
  readonly kty: 'OKP'
  readonly crv: 'Ed25519'
  readonly x: string
  readonly d: string
}

/** A generated key, to be stored as a secret. */
export interface NewKey extends Signer {
  /** PKCS#8 in PEM, as `openssl genpkey -algorithm ed25519` and `countersign keygen` write it. Secret. */
  readonly pem: string
  /** The same as a JWK. Secret. */
  readonly jwk: PrivateJwk
}

/** Verifies with one key. @param signature 64 bytes */
export type VerifyWithKey = (
  message: Uint8Array,
  signature: Uint8Array,
) => boolean | Promise<boolean>

/** An Ed25519: of a platform, or `portableEd25519`, a tenth as fast. */
export interface Ed25519 {
  /** @param publicKey 32 bytes of a key that can be certified */
  verifierOf(publicKey: Uint8Array): Promise<VerifyWithKey>
  /** @param seed 32 bytes. The private key stays in the platform's memory. */
  signerOf(seed: Uint8Array): Promise<Signer>
}
