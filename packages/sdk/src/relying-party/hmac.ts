import { CountersignError } from '../errors.ts'

/** The MACs of one relying party: HMAC with SHA-256. */
export interface Macs {
  sign(text: string): Promise<Uint8Array>
  /** Whether it is the MAC of the text under one of the secrets. */
  verify(text: string, mac: Uint8Array<ArrayBuffer>): Promise<boolean>
}

/** 256 bits, since guesses can be tested offline. */
const MIN_SECRET_BYTES = 32
const ALGORITHM = { name: 'HMAC', hash: 'SHA-256' }

/**
 * @param secrets the first one signs, all are accepted, so that a secret can be rotated without ending sessions
 * @throws CountersignError INVALID_ARGUMENT if there is no secret or one is too short
 */
export function macsOf(secrets: readonly (string | Uint8Array)[]): Macs {
  const keys = secrets.map((secret) => hmacKey(bytesOfSecret(secret)))
  const [first] = keys
  if (first === undefined) throw tooShort()
  return {
    async sign(text) {
      return new Uint8Array(await crypto.subtle.sign('HMAC', await first(), bytesOf(text)))
    },
    async verify(text, mac) {
      for (const key of keys) {
        if (await crypto.subtle.verify('HMAC', await key(), mac, bytesOf(text))) return true
      }
      return false
    },
  }
}

/** Imports the key when it is first needed. */
function hmacKey(secret: Uint8Array<ArrayBuffer>) {
  const load = () => crypto.subtle.importKey('raw', secret, ALGORITHM, false, ['sign', 'verify'])
  let key: ReturnType<typeof load> | undefined
  return () => {
    key ??= load()
    return key
  }
}

function bytesOfSecret(secret: string | Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = typeof secret === 'string' ? bytesOf(secret) : new Uint8Array(secret)
  if (bytes.length < MIN_SECRET_BYTES) throw tooShort()
  return bytes
}

function tooShort(): CountersignError {
  return new CountersignError(
    'INVALID_ARGUMENT',
    `The session secret must have at least ${MIN_SECRET_BYTES} bytes. Create one with: openssl rand -base64 32`,
  )
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}
