import { createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { chmodSync, linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The key under which subjects of identity providers are hashed, and its public name. */
export interface Pepper {
  readonly id: string
  /** HMAC-SHA256(pepper, provider ‖ issuer ‖ subject), each part preceded by its length. */
  hash(provider: string, issuer: string, subject: string): Uint8Array
  /** HMAC-SHA256 of a text under a key that is derived for one purpose alone (HKDF, RFC 5869), and hashes no subject. */
  authenticate(purpose: string, text: string): Uint8Array
}

const PEPPER = 'identity-pepper'

/** Reads the pepper of a data directory; the first to ask makes it (32 random bytes, 0600). */
export function loadPepper(dataDir: string): Pepper {
  return pepperOf(loadSecret(dataDir, PEPPER))
}

/** Reads the pepper of a data directory, or null where there is none. @throws Error where the file holds something else */
export function readPepper(dataDir: string): Pepper | null {
  const key = readSecretIfThere(join(dataDir, PEPPER))
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
  }
}

/** A secret of 32 bytes, kept in hexadecimal in a file of its own. */
function loadSecret(dataDir: string, name: string): Buffer {
  const file = join(dataDir, name)
  const there = readSecretIfThere(file)
  if (there !== null) return there
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  publish(file, `${randomBytes(32).toString('hex')}\n`)
  return readSecret(file)
}

function readSecretIfThere(file: string): Buffer | null {
  try {
    return readSecret(file)
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

/** Two processes may start at once: the file appears whole, and the first one's stays. */
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
