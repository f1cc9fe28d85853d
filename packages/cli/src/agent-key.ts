import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { encodeBase64 } from '@countersign/protocol'
import { Failure } from './failure.ts'

/** The key pair of an agent. */
export interface AgentKey {
  /** 32 bytes in padded standard base64, as the wire carries them. */
  readonly publicKey: string
  /** @returns the signature, 64 bytes in padded standard base64 */
  sign(message: Uint8Array): string
  /** PKCS#8 in PEM, as `openssl genpkey -algorithm ed25519` writes it. Secret. */
  toPem(): string
}

/** A new key pair out of the system's randomness. */
export function newAgentKey(): AgentKey {
  return agentKeyOf(generateKeyPairSync('ed25519').privateKey)
}

/**
 * Reads a private key in PEM.
 * @param source how the message names where the text is from
 * @throws Failure UNUSABLE_KEY for what is no Ed25519 private key, or an encrypted one
 */
export function parseAgentKey(pem: string, source: string): AgentKey {
  const key = parsePrivateKey(pem, source)
  if (key.asymmetricKeyType !== 'ed25519') {
    throw new Failure(
      'UNUSABLE_KEY',
      `${source} holds a key of type ${key.asymmetricKeyType}; an agent's is Ed25519. Make one: countersign keygen, or openssl genpkey -algorithm ed25519`,
    )
  }
  return agentKeyOf(key)
}

function parsePrivateKey(pem: string, source: string): KeyObject {
  if (/^-----BEGIN ENCRYPTED|^Proc-Type: 4,ENCRYPTED/m.test(pem)) {
    throw new Failure(
      'UNUSABLE_KEY',
      `${source} is encrypted, and there is no one to ask for its passphrase. Decrypt it first: openssl pkey -in <file> -out <new file>`,
    )
  }
  if (/^-----BEGIN PUBLIC KEY/m.test(pem) && !pem.includes('PRIVATE KEY')) {
    throw new Failure('UNUSABLE_KEY', `${source} holds a public key; the private one is needed.`)
  }
  try {
    return createPrivateKey({ key: pem, format: 'pem' })
  } catch (cause) {
    throw new Failure('UNUSABLE_KEY', `${source} holds no private key in PEM (PKCS#8).`, { cause })
  }
}

function agentKeyOf(key: KeyObject): AgentKey {
  const { x } = key.export({ format: 'jwk' })
  return {
    publicKey: encodeBase64(Buffer.from(x as string, 'base64url')),
    sign: (message) => encodeBase64(sign(null, message, key)),
    toPem: () => key.export({ type: 'pkcs8', format: 'pem' }) as string,
  }
}
