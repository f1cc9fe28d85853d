import { randomUUID } from 'node:crypto'
import { link, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { CountersignError } from '../errors.ts'
import { keyFromPem, keyFromText, newKey } from '../keys/keys.ts'
import { pemOf, seedOfPem } from '../keys/pkcs8.ts'
import type { Signer } from '../keys/signer.ts'

/** Error codes of file systems without hard links. */
const NO_LINKS = ['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP']

/** Options of `keyFromFile`. */
export interface KeyFileOptions {
  /** Generate a key if there is no file yet. Default: false. */
  readonly create?: boolean
  /** Called if other users of the machine may read the file. Default: a warning of Node (COUNTERSIGN_KEY_EXPOSED). */
  readonly onExposed?: (path: string) => void
}

/** Options of `writeKeyFile`. */
export interface WriteKeyFileOptions {
  /** Replace an existing file: the previous key is lost, and its owner has to recover its DIDs. Default: false. */
  readonly replace?: boolean
}

/** The key file that `countersign` uses by default: COUNTERSIGN_KEY, else `~/.countersign/agent.pem`. */
export function defaultKeyFile(): string {
  return process.env.COUNTERSIGN_KEY || join(homedir(), '.countersign', 'agent.pem')
}

/**
 * Loads a key from a file as `countersign keygen` and openssl write it (PKCS#8 in PEM). A new file is readable for its owner
 * only, is durable on disk before this returns, and never replaces another. If two processes create it at the same moment, one
 * generates the key and both load it.
 * @throws CountersignError NO_KEY if there is no file and none is to be created; UNUSABLE_KEY
 */
export async function keyFromFile(
  path: string = defaultKeyFile(),
  { create = false, onExposed = emitExposedWarning }: KeyFileOptions = {},
): Promise<Signer> {
  const signer = await readKeyFile(path, onExposed)
  if (signer !== null) return signer
  if (!create) {
    throw new CountersignError(
      'NO_KEY',
      `There is no key at ${path}. To create one, pass { create: true }.`,
    )
  }
  const { pem } = await newKey()
  try {
    await writeKeyFile(path, pem)
  } catch (error) {
    if (!(error instanceof CountersignError && error.code === 'KEY_EXISTS')) throw error
  }
  return keyFromFile(path, { onExposed })
}

/**
 * Writes a key, in the form that openssl writes, to a file for its owner only. It is durable on disk before this returns.
 * @param pem such as `pem` of `newKey()`
 * @throws CountersignError UNUSABLE_KEY; KEY_EXISTS if there is a file already, unless it is to be replaced
 */
export async function writeKeyFile(
  path: string,
  pem: string,
  { replace = false }: WriteKeyFileOptions = {},
): Promise<void> {
  const text = pemOf(seedOfPem(pem))
  const directory = dirname(path)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const draft = `${path}.${randomUUID()}`
  try {
    await writeNewFile(draft, text)
    await (replace ? rename(draft, path) : linkNewFile(draft, path, text))
  } catch (error) {
    if (replace || !hasCode(error, 'EEXIST')) throw error
    throw new CountersignError(
      'KEY_EXISTS',
      `${path} exists, and an agent without its key needs its owner to recover the DID. Choose another file.`,
      { cause: error },
    )
  } finally {
    await rm(draft, { force: true })
  }
  await syncDirectory(directory)
}

/**
 * Moves a key file to the place of another, whose key is kept in `<path>.previous`. There is a key at `path` at every moment.
 * @returns the path of the former key
 */
export async function adoptKeyFile(from: string, path: string): Promise<string> {
  const previous = `${path}.previous`
  const former = await readFile(path, 'utf8').catch((error) => {
    if (hasCode(error, 'ENOENT')) return null
    throw error
  })
  if (former !== null) await writeKeyFile(previous, former, { replace: true })
  await rename(from, path)
  await syncDirectory(dirname(path))
  return previous
}

/**
 * Loads a key from an environment variable: PEM, also with `\n` written as two characters, or a JWK in JSON.
 * @throws CountersignError NO_KEY if the variable is not set; UNUSABLE_KEY
 */
export async function keyFromEnvironment(name: string): Promise<Signer> {
  const text = process.env[name]
  if (!text) throw new CountersignError('NO_KEY', `The environment variable ${name} is not set.`)
  return keyFromText(text)
}

async function readKeyFile(
  path: string,
  onExposed: (path: string) => void,
): Promise<Signer | null> {
  const file = await open(path, 'r').catch((error) => {
    if (hasCode(error, 'ENOENT')) return null
    throw error
  })
  if (file === null) return null
  try {
    const signer = await signerIn(await file.readFile('utf8'), path)
    const { mode } = await file.stat()
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) onExposed(path)
    return signer
  } finally {
    await file.close()
  }
}

async function signerIn(pem: string, path: string): Promise<Signer> {
  try {
    return await keyFromPem(pem)
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error
    throw new CountersignError(error.code, `${path}: ${error.message}`, { cause: error.cause })
  }
}

function emitExposedWarning(path: string): void {
  process.emitWarning(`Other users of this machine can read ${path}. Run: chmod 600 ${path}`, {
    code: 'COUNTERSIGN_KEY_EXPOSED',
  })
}

/** Unlike a rename, a link replaces no file; unlike a write in place, nobody ever reads an incomplete key. */
async function linkNewFile(draft: string, path: string, text: string): Promise<void> {
  try {
    await link(draft, path)
  } catch (error) {
    if (!NO_LINKS.some((code) => hasCode(error, code))) throw error
    await writeNewFile(path, text)
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

/** A new file name is durable only once its directory is synced. Windows cannot open directories and needs no sync. */
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
