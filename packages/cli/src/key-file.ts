import { randomUUID } from 'node:crypto'
import {
  closeSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { type AgentKey, parseAgentKey } from './agent-key.ts'
import { Failure } from './failure.ts'

/** A key as it lies on disk. */
export interface StoredKey {
  readonly key: AgentKey
  /** Whether users other than its owner may read or write the file. */
  readonly exposed: boolean
}

/**
 * Reads a key file, ours or one of openssl's.
 * @throws Failure NO_KEY, UNUSABLE_KEY
 */
export function readKeyFile(path: string): StoredKey {
  const file = openOrRefuse(path)
  try {
    const exposed = process.platform !== 'win32' && (fstatSync(file).mode & 0o077) !== 0
    return { key: parseAgentKey(readFileSync(file, 'utf8'), path), exposed }
  } finally {
    closeSync(file)
  }
}

/**
 * Writes a key file for its owner alone, and returns once it is on disk. A key that is there stays: losing one loses
 * the agent's DID. With `force` it is replaced, whole by whole.
 * @throws Failure KEY_EXISTS
 */
export function writeKeyFile(path: string, pem: string, force: boolean): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  if (force) {
    const draft = `${path}.${randomUUID()}`
    writeNewFile(draft, pem)
    replace(path, draft)
  } else {
    writeNewFile(path, pem)
  }
  syncDirectory(dirname(path))
}

function openOrRefuse(path: string): number {
  try {
    return openSync(path, 'r')
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
    throw new Failure('NO_KEY', `There is no key at ${path}. Make one: countersign keygen`)
  }
}

function writeNewFile(path: string, text: string): void {
  const file = createOrRefuse(path)
  try {
    writeFileSync(file, text)
    fsyncSync(file)
  } catch (error) {
    rmSync(path)
    throw error
  } finally {
    closeSync(file)
  }
}

function replace(path: string, draft: string): void {
  try {
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft)
    throw error
  }
}

function createOrRefuse(path: string): number {
  try {
    return openSync(path, 'wx', 0o600)
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
    throw new Failure(
      'KEY_EXISTS',
      `${path} exists, and whoever loses a key loses its DID. Choose another file with --key, or replace it with --force.`,
    )
  }
}

/** A new name is durable only once its directory is. Windows cannot open directories, and needs no such step. */
function syncDirectory(path: string): void {
  if (process.platform === 'win32') return
  const directory = openSync(path, 'r')
  try {
    fsyncSync(directory)
  } finally {
    closeSync(directory)
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
