import { createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { chmodSync, linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The secret key that hashes subjects of identity providers. */
export interface Pepper {
  /** Public name: the first 8 characters of the key's SHA-256, base64url. */
  readonly id: string
  /** HMAC-SHA256(pepper, provider ‖ issuer ‖ subject), with each part preceded by its length in bytes. */
  hash(provider: string, issuer: string, subject: string): Uint8Array
  /** HMAC-SHA256 of a text with a key derived for one purpose (HKDF, RFC 5869), so that it never equals a subject's hash. */
  authenticate(purpose: string, text: string): Uint8Array
  /** HKDF-SHA256(pepper, info `purpose`): a key of 32 bytes for one purpose (`seal.ts`). */
  derive(purpose: string): Uint8Array
}

/** The file of the pepper. */
export const PEPPER = 'identity-pepper'

/**
 * Reads the pepper of a data directory. Creates it if it does not exist: 32 random bytes, file mode 0600.
 * @throws Error if the file has other contents
 */
export function loadPepper(dataDir: string): Pepper {
  return pepperOf(loadSecret(dataDir, PEPPER))
}

/** Reads the pepper of a data directory. @returns null if there is none @throws Error if the file has other contents */
export function readPepper(dataDir: string): Pepper | null {
  const key = readSecretIfExists(dataDir, PEPPER)
  return key === null ? null : pepperOf(key)
}

function pepperOf(key: Buffer): Pepper {
  return {
    id: createHash('sha256').update(key).digest('base64url').slice(0, 8),
    hash(...parts) {
      const hmac = createHmac('sha256', key)
      for (const part of parts) hmac.update(`${Buffer.byteLength(part)}:${part}`)
      return hmac.digest()
    },
    authenticate(purpose, text) {
      const own = Buffer.from(hkdfSync('sha256', key, '', `countersign ${purpose}`, 32))
      return createHmac('sha256', own).update(text).digest()
    },
    derive: (purpose) => new Uint8Array(hkdfSync('sha256', key, '', purpose, 32)),
  }
}

/**
 * Reads a secret of 32 bytes, stored in its own file in hexadecimal. Creates it if it does not exist, with file mode 0600.
 * @throws Error if the file has other contents
 */
export function loadSecret(dataDir: string, name: string): Buffer {
  const existing = readSecretIfExists(dataDir, name)
  if (existing !== null) return existing
  writeSecret(dataDir, name, randomBytes(32))
  return readSecret(join(dataDir, name))
}

/** Stores a secret of 32 bytes in its own file, with file mode 0600. An existing file stays as it is. */
export function writeSecret(dataDir: string, name: string, secret: Uint8Array): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  publish(join(dataDir, name), `${Buffer.from(secret).toString('hex')}\n`)
}

/** @returns null if there is no such file @throws Error if the file has other contents */
export function readSecretIfExists(dataDir: string, name: string): Buffer | null {
  try {
    return readSecret(join(dataDir, name))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

function readSecret(file: string): Buffer {
  const text = readFileSync(file, 'utf8').trim()
  if (!/^[0-9a-f]{64}$/.test(text))
    throw new Error(`${file} does not hold 64 hexadecimal characters`)
  return Buffer.from(text, 'hex')
}

/** If two processes start at once, the first one's file stays. It appears only once it is complete. */
function publish(file: string, text: string): void {
  const draft = `${file}.${process.pid}.tmp`
  writeFileSync(draft, text, { mode: 0o600, flush: true })
  chmodSync(draft, 0o600)
  try {
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(draft)
  }
}
