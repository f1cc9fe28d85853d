import {
  type Checkpoint,
  equalHashes,
  formatCheckpoint,
  parseCheckpoint,
} from '@countersign/protocol'
import { DurableFile } from '../base/durable-file.ts'

/** The name of the anchor in the data directory. */
export const ANCHOR_FILE = 'log-head'

/**
 * The newest state of the log that this machine has signed or served, in a file outside the database: text of a checkpoint, without
 * signatures. Neither a backup nor a restore touches it, so it shows that a database has gone back.
 */
export class LogAnchor {
  readonly #file: DurableFile

  constructor(dataDir: string) {
    this.#file = new DurableFile(dataDir, ANCHOR_FILE)
  }

  /** @returns null if there is none @throws Error if the file is malformed */
  read(): Checkpoint | null {
    const text = this.#file.read()
    if (text === null) return null
    const checkpoint = parseCheckpoint(text)
    if (checkpoint === null) throw new Error(`${this.#file.path} is not the text of a checkpoint`)
    return checkpoint
  }

  /**
   * Replaces the anchor if it is still the expected one, across all processes of this machine. Durable once it returns.
   * @returns false, without a change, if it is another one
   */
  compareAndSwap(expected: Checkpoint | null, next: Checkpoint): boolean {
    return this.#file.locked(() => {
      if (!isSame(this.read(), expected)) return false
      if (!isSame(expected, next)) this.#file.write(formatCheckpoint(next))
      return true
    })
  }
}

function isSame(a: Checkpoint | null, b: Checkpoint | null): boolean {
  if (a === null || b === null) return a === b
  return a.origin === b.origin && a.size === b.size && equalHashes(a.root, b.root)
}
