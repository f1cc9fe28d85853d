import {
  type Checkpoint,
  equalHashes,
  formatCheckpoint,
  formatVerifierKey,
  type NoteKey,
  parseCheckpoint,
  parseVerifierKey,
} from '@countersign/protocol'
import { DurableFile } from '../../base/durable-file.ts'

/** Its name in the data directory. */
export const WITNESS_HEAD_FILE = 'witness-head'

/** Why the witness does not sign. */
export class WitnessHaltedError extends Error {
  override readonly name = 'WitnessHaltedError'
}

/** What this machine knows to be cosigned with a key. */
export interface KnownTrees {
  readonly key: NoteKey
  /** The newest state of each log. */
  readonly trees: readonly Checkpoint[]
}

/**
 * What this machine knows to be cosigned, in a file outside the database: the verifier key of the witness, then the text of the newest
 * checkpoint of each log, without signatures. Neither a backup nor a restore touches it, so it shows that a database has gone back.
 */
export class WitnessHead {
  readonly #file: DurableFile

  constructor(dataDir: string) {
    this.#file = new DurableFile(dataDir, WITNESS_HEAD_FILE)
  }

  /** @returns null if there is none @throws WitnessHaltedError if the file is malformed */
  read(): KnownTrees | null {
    const text = this.#file.read()
    if (text === null) return null
    const known = parse(text)
    if (known !== null) return known
    throw new WitnessHaltedError(
      `${this.#file.path} is malformed. Copy it from another node. If there is none, delete the file and make a new key: countersignd witness new-key`,
    )
  }

  /** Replaces all of it. Durable once it returns. Call it in `locked`. */
  write({ key, trees }: KnownTrees): void {
    const texts = trees.toSorted((a, b) => (a.origin < b.origin ? -1 : 1)).map(formatCheckpoint)
    this.#file.write([`${formatVerifierKey(key)}\n`, ...texts].join('\n'))
  }

  /** Runs work while no other process of this machine changes the file. */
  locked<T>(work: () => T): T {
    return this.#file.locked(work)
  }

  /**
   * Adds what was cosigned. Of two trees of a log, the larger one stays. Durable once it returns.
   * @throws WitnessHaltedError if the file is missing or of another key
   */
  advance(key: NoteKey, cosigned: readonly Checkpoint[]): void {
    this.locked(() => {
      const known = this.read()
      assertOfKey(known, key)
      const newer = cosigned.filter(
        ({ origin, size }) => size > (treeOf(known.trees, origin)?.size ?? -1),
      )
      if (newer.length === 0) return
      const others = known.trees.filter(({ origin }) => treeOf(newer, origin) === undefined)
      this.write({ key, trees: [...others, ...newer] })
    })
  }
}

/** @throws WitnessHaltedError */
export function assertOfKey(known: KnownTrees | null, key: NoteKey): asserts known is KnownTrees {
  if (known === null) {
    throw new WitnessHaltedError(
      `${WITNESS_HEAD_FILE} is missing in DATA_DIR, so that nothing shows whether the database has all that was cosigned. Copy it from another node. If there is none, this machine was restored. Make a new key: countersignd witness new-key`,
    )
  }
  if (isSameNoteKey(known.key, key)) return
  throw new WitnessHaltedError(
    `${WITNESS_HEAD_FILE} in DATA_DIR is of the key ${known.key.name}, the database has ${key.name}. Copy witness-key and ${WITNESS_HEAD_FILE} from the node that made the newest key. If the database was restored, make a new key: countersignd witness new-key`,
  )
}

/** Whether both have the same name and public key. */
export function isSameNoteKey(a: NoteKey, b: NoteKey): boolean {
  return a.name === b.name && equalHashes(a.publicKey, b.publicKey)
}

/** The tree of a log among these. */
export function treeOf<T extends Checkpoint>(trees: readonly T[], origin: string): T | undefined {
  return trees.find((tree) => tree.origin === origin)
}

function parse(text: string): KnownTrees | null {
  if (!text.endsWith('\n')) return null
  const [vkey = '', ...texts] = text.slice(0, -1).split('\n\n')
  const key = parseVerifierKey(vkey)
  const trees = texts.map((each) => parseCheckpoint(`${each}\n`))
  if (key?.type !== 'cosignature' || !trees.every((tree) => tree !== null)) return null
  return { key, trees }
}
