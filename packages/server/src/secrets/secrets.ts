import { createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

/** The folders of the secrets that all nodes share. By default they are the same. */
export interface SecretFolders {
  /** Secrets are read here first. Nothing is written here: it may be a read-only volume, such as a Secret of Kubernetes. */
  readonly keysDir: string
  /** Secrets are read here if `keysDir` does not have them. New ones are stored here. */
  readonly dataDir: string
}

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
 * Reads the pepper. Creates it in the data directory if it does not exist: 32 random bytes, file mode 0600.
 * @throws Error if the file has other contents
 */
export function loadPepper(folders: SecretFolders): Pepper {
  return pepperOf(loadSecret(folders, PEPPER))
}

/** Reads the pepper. @returns null if there is none @throws Error if the file has other contents */
export function readPepper(folders: SecretFolders): Pepper | null {
  const key = readSharedSecret(folders, PEPPER)
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
 * Reads a secret of 32 bytes, stored in its own file in hexadecimal. Creates it in the data directory if it does not exist, with file mode 0600.
 * @throws Error if the file has other contents, or `keysDir` does not exist
 */
export function loadSecret(folders: SecretFolders, name: string): Buffer {
  const existing = readSharedSecret(folders, name)
  if (existing !== null) return existing
  const { keysDir, dataDir } = folders
  // A volume that is not mounted must not become a second set of keys.
  if (keysDir !== dataDir && !existsSync(keysDir))
    throw new Error(`KEYS_DIR does not exist, and DATA_DIR has no ${name}`)
  writeSecret(dataDir, name, randomBytes(32))
  return readSecret(join(dataDir, name))
}

/** Stores a secret of 32 bytes in its own file, with file mode 0600. An existing file stays as it is. */
export function writeSecret(dataDir: string, name: string, secret: Uint8Array): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  publish(join(dataDir, name), `${Buffer.from(secret).toString('hex')}\n`)
}

/** Reads a secret that all nodes share. @returns null if neither folder has it @throws Error if the file that counts has other contents */
export function readSharedSecret({ keysDir, dataDir }: SecretFolders, name: string): Buffer | null {
  return readSecretIfExists([keysDir, dataDir], name)
}

/** @param dirs the first one with such a file counts @returns null if there is none @throws Error if the file has other contents */
export function readSecretIfExists(dirs: readonly string[], name: string): Buffer | null {
  for (const dir of dirs) {
    try {
      return readSecret(join(dir, name))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
  return null
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
