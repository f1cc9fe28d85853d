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
import {
  type Checkpoint,
  equalHashes,
  formatCheckpoint,
  parseCheckpoint,
} from '@countersign/protocol'

/** The name of the anchor in the data directory. */
export const ANCHOR_FILE = 'log-head'
/** How long to wait for another process of this machine that changes the anchor, which takes milliseconds. */
const LOCK_TIMEOUT_MS = 5000

/**
 * The newest state of the log that this machine has signed or served, in a file outside the database: text of a checkpoint, without
 * signatures. Neither a backup nor a restore touches it, so it shows that a database has gone back.
 */
export class LogAnchor {
  readonly #dataDir: string

  constructor(dataDir: string) {
    this.#dataDir = dataDir
  }

  /** @returns null if there is none @throws Error if the file is malformed */
  read(): Checkpoint | null {
    const file = join(this.#dataDir, ANCHOR_FILE)
    let text: string
    try {
      text = readFileSync(file, 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
      throw error
    }
    const checkpoint = parseCheckpoint(text)
    if (checkpoint === null) throw new Error(`${file} is not the text of a checkpoint`)
    return checkpoint
  }

  /**
   * Replaces the anchor if it is still the expected one, across all processes of this machine. Durable once it returns.
   * @returns false, without a change, if it is another one
   */
  compareAndSwap(expected: Checkpoint | null, next: Checkpoint): boolean {
    mkdirSync(this.#dataDir, { recursive: true, mode: 0o700 })
    return this.#locked(() => {
      if (!isSame(this.read(), expected)) return false
      if (!isSame(expected, next)) this.#write(formatCheckpoint(next))
      return true
    })
  }

  #write(text: string): void {
    const file = join(this.#dataDir, ANCHOR_FILE)
    const draft = `${file}.tmp`
    writeFileSync(draft, text, { mode: 0o600, flush: true })
    renameSync(draft, file)
    const directory = openSync(this.#dataDir, 'r')
    try {
      fsyncSync(directory)
    } finally {
      closeSync(directory)
    }
  }

  /** The operating system holds the lock, so that it ends with the process. */
  #locked<T>(work: () => T): T {
    const file = join(this.#dataDir, `${ANCHOR_FILE}.lock`)
    const lock = new DatabaseSync(file, { timeout: LOCK_TIMEOUT_MS })
    try {
      chmodSync(file, 0o600)
      lock.exec('BEGIN EXCLUSIVE')
      return work()
    } finally {
      lock.close()
    }
  }
}

function isSame(a: Checkpoint | null, b: Checkpoint | null): boolean {
  if (a === null || b === null) return a === b
  return a.origin === b.origin && a.size === b.size && equalHashes(a.root, b.root)
}
