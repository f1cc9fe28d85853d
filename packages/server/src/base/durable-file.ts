import {
  chmodSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** How long to wait for another process of this machine that changes the file, which takes milliseconds. */
const LOCK_TIMEOUT_MS = 5000

/** Makes a file durable, or the names in a directory: without it, a power failure may undo a rename. */
export function syncPath(path: string): void {
  const opened = openSync(path, 'r')
  try {
    fsyncSync(opened)
  } finally {
    closeSync(opened)
  }
}

/** A small text file that processes of one machine change, and that survives a power failure. Its mode is 0600. */
export class DurableFile {
  readonly path: string
  readonly #directory: string

  constructor(directory: string, name: string) {
    this.#directory = directory
    this.path = join(directory, name)
  }

  /** @returns null if there is none */
  read(): string | null {
    try {
      return readFileSync(this.path, 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
      throw error
    }
  }

  /** Replaces the file. Durable once it returns; a reader never sees a part of it. Call it in `locked`. */
  write(text: string): void {
    const draft = `${this.path}.tmp`
    writeFileSync(draft, text, { mode: 0o600, flush: true })
    renameSync(draft, this.path)
    syncPath(this.#directory)
  }

  /** Runs work while no other process of this machine does. The operating system holds the lock, so that it ends with the process. */
  locked<T>(work: () => T): T {
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 })
    const lockFile = `${this.path}.lock`
    const lock = new DatabaseSync(lockFile, { timeout: LOCK_TIMEOUT_MS })
    try {
      chmodSync(lockFile, 0o600)
      lock.exec('BEGIN EXCLUSIVE')
      return work()
    } finally {
      lock.close()
    }
  }
}
