import { randomUUID } from 'node:crypto'
import { link, mkdir, open, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { CountersignError } from '../errors.ts'
import { keyFromPem, keyFromText, newKey } from '../keys/keys.ts'
import type { Signer } from '../keys/signer.ts'

/** What file systems without hard links say. */
const NO_LINKS = ['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP']

/** How a key file is opened. */
export interface KeyFileOptions {
  /** Make a key where there is no file yet. Default: false. */
  readonly create?: boolean
}

/**
 * Where the command `countersign` keeps the key of an agent: COUNTERSIGN_KEY, else `~/.countersign/agent.pem`.
 */
export function defaultKeyFile(): string {
  return process.env.COUNTERSIGN_KEY || join(homedir(), '.countersign', 'agent.pem')
}

/**
 * Loads a key from a file in the form that `countersign keygen` and openssl write (PKCS#8 in PEM). A file that is made
 * is readable for its owner alone, is on disk before this returns, and never takes the place of another: of two that
 * begin at the same moment, one makes the key and both load it.
 * @throws CountersignError NO_KEY where there is no file and none is to be made; UNUSABLE_KEY. Where other users of
 *   the machine may read the file, Node warns (COUNTERSIGN_KEY_EXPOSED)
 */
export async function keyFromFile(
  path: string = defaultKeyFile(),
  { create = false }: KeyFileOptions = {},
): Promise<Signer> {
  const found = await readKeyFile(path)
  if (found !== null) return found
  if (!create) {
    throw new CountersignError('NO_KEY', `There is no key at ${path}. Make one: { create: true }`)
  }
  const { pem } = await newKey()
  try {
    await writeKeyFile(path, pem)
  } catch (error) {
    if (!(error instanceof CountersignError && error.code === 'KEY_EXISTS')) throw error
  }
  return keyFromFile(path)
}

/**
 * Writes a key to a file for its owner alone, and returns once it is on disk.
 * @param pem such as `pem` of `newKey()`
 * @throws CountersignError KEY_EXISTS where something is there already: it stays
 */
export async function writeKeyFile(path: string, pem: string): Promise<void> {
  await keyFromPem(pem)
  const directory = dirname(path)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const draft = `${path}.${randomUUID()}`
  try {
    await writeNewFile(draft, pem)
    // Unlike a rename, a link displaces nothing; unlike writing in place, nobody ever reads half a key.
    await link(draft, path).catch((error) => {
      if (!NO_LINKS.some((code) => hasCode(error, code))) throw error
      return writeNewFile(path, pem)
    })
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
    throw new CountersignError(
      'KEY_EXISTS',
      `${path} exists, and whoever loses a key loses its DID. Choose another file.`,
      { cause: error },
    )
  } finally {
    await rm(draft, { force: true })
  }
  await syncDirectory(directory)
}

/**
 * Loads a key from an environment variable: PEM, also with `\n` written out, or a JWK in JSON.
 * @throws CountersignError NO_KEY where the variable is not set; UNUSABLE_KEY
 */
export async function keyFromEnvironment(name: string): Promise<Signer> {
  const text = process.env[name]
  if (!text) throw new CountersignError('NO_KEY', `The environment variable ${name} is not set.`)
  return keyFromText(text)
}

async function readKeyFile(path: string): Promise<Signer | null> {
  const file = await open(path, 'r').catch((error) => {
    if (hasCode(error, 'ENOENT')) return null
    throw error
  })
  if (file === null) return null
  try {
    const signer = await keyFromPem(await file.readFile('utf8'))
    const { mode } = await file.stat()
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
      process.emitWarning(`Other users of this machine may have read ${path}: chmod 600 it.`, {
        code: 'COUNTERSIGN_KEY_EXPOSED',
      })
    }
    return signer
  } finally {
    await file.close()
  }
}

async function writeNewFile(path: string, pem: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(pem)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** A new name is durable only once its directory is. Windows cannot open directories, and needs no such step. */
async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
