import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Checkpoint,
  CodedError,
  emptyTreeRoot,
  equalHashes,
  type NoteKey,
} from '@countersign/protocol'
import type { Database, Db } from '../../database/database.ts'
import type { WitnessedLogRow } from '../../database/schema/log-rows.ts'
import { readSecretIfExists, writeSecret } from '../../secrets/secrets.ts'
import { type ServiceKey, serviceKeyOf } from '../../secrets/service-keys.ts'
import { currentKey, deleteCosignatures, insertKey, keepTree } from './cosigned-log-table.ts'
import {
  assertOfKey,
  isSameNoteKey,
  treeOf,
  WITNESS_HEAD_FILE,
  WitnessHaltedError,
  WitnessHead,
} from './witness-head.ts'

/** The file of the key in the data directory. */
const WITNESS_KEY_FILE = 'witness-key'

const NEW_KEY = 'make a new key: countersignd witness new-key'
const BOTH_FILES = `${WITNESS_KEY_FILE} and ${WITNESS_HEAD_FILE}`

export interface WitnessParts {
  readonly db: Pick<Database, 'read' | 'write'>
  readonly dataDir: string
  /** Host of the base URL, with its port: the beginning of the name of a new key. */
  readonly host: string
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number
}

/** The key of the witness, which may sign on this machine. */
export interface OpenedKey {
  readonly number: number
  readonly key: NoteKey
  readonly sign: ServiceKey['sign']
  /** What this machine knows to be cosigned with it. */
  readonly known: readonly Checkpoint[]
}

/**
 * Makes the first key, unless there is one. If two nodes do so at the same time, the database decides which key stays.
 * @throws WitnessHaltedError if there are files of a key that the database does not know
 */
export async function beginWitness({ db, dataDir, host, now }: WitnessParts): Promise<void> {
  if ((await currentKey(db.read)) !== undefined) return
  const head = new WitnessHead(dataDir)
  const key = head.locked(() => {
    const known = head.read()
    const seed = readSecretIfExists([dataDir], WITNESS_KEY_FILE)
    // A process that ended before the database knew the key has cosigned nothing.
    const isUnused = known === null || known.trees.length === 0
    if (seed === null && isUnused) return makeKey(head, dataDir, `${host}/witness/1`, [])
    const isOwn =
      seed !== null && known !== null && isSameNoteKey(known.key, keyOf(known.key, seed))
    return isOwn && isUnused ? known.key : null
  })
  if (key === null) {
    throw new WitnessHaltedError(
      `The database does not know ${WITNESS_KEY_FILE} in DATA_DIR: it was restored. If so, ${NEW_KEY}`,
    )
  }
  await db.write((tx) => insertKey(tx, rowOf(1, key, now())))
}

/**
 * Opens the current key. The file with what is known to be cosigned is read before the database, which had all of it earlier.
 * @throws WitnessHaltedError
 */
export async function openWitnessKey(db: Db, dataDir: string): Promise<OpenedKey> {
  const known = new WitnessHead(dataDir).read()
  const seed = readSecretIfExists([dataDir], WITNESS_KEY_FILE)
  const row = await currentKey(db)
  if (row === undefined) throw new WitnessHaltedError('There is no key yet.')
  if (row.halted_at !== null) {
    throw new WitnessHaltedError(
      `A node has found that the database does not have all that ${row.name} has cosigned: it was restored, or has lost commits. Then ${NEW_KEY}`,
    )
  }
  const key: NoteKey = {
    name: row.name,
    type: 'cosignature',
    publicKey: Uint8Array.from(row.public_key),
  }
  if (seed === null) {
    throw new WitnessHaltedError(
      `${WITNESS_KEY_FILE} is missing in DATA_DIR. Copy ${BOTH_FILES} from another node. If they are lost, ${NEW_KEY}`,
    )
  }
  if (!isSameNoteKey(key, keyOf(key, seed))) {
    throw new WitnessHaltedError(
      `${WITNESS_KEY_FILE} in DATA_DIR is not the one that the database knows. Copy ${BOTH_FILES} from another node. If the database was restored, ${NEW_KEY}`,
    )
  }
  assertOfKey(known, key)
  const { sign } = serviceKeyOf(seed)
  return { number: row.number, key, sign, known: known.trees }
}

/** A tree that is known to be cosigned and that the database does not have. @returns null if it has all of them */
export function lostTree(
  known: readonly Checkpoint[],
  rows: readonly WitnessedLogRow[],
): Checkpoint | null {
  const isLost = ({ origin, size, root }: Checkpoint) => {
    const stored = treeOf(rows, origin) ?? { size: 0, root: emptyTreeRoot() }
    return stored.size < size || (stored.size === size && !equalHashes(stored.root, root))
  }
  return known.find(isLost) ?? null
}

/** What to tell about a tree that was lost. */
export function lostTreeMessage({ origin, size }: Checkpoint): string {
  return `The database does not have the tree of ${size} entries of ${origin} that was cosigned: it was restored, or has lost commits. Then ${NEW_KEY}`
}

/**
 * Makes a new key, under a new name. The old one is deleted, so that nothing signs with it again. What this machine knows to be cosigned
 * stays known.
 * @throws WitnessHaltedError if the file with what is known is malformed; CodedError VALIDATION_ERROR if another node does the same
 */
export async function replaceWitnessKey({
  db,
  dataDir,
  host,
  now,
}: WitnessParts): Promise<NoteKey> {
  const old = await currentKey(db.read)
  const head = new WitnessHead(dataDir)
  const { number, key, trees } = head.locked(() => {
    const known = head.read()
    const trees = known?.trees ?? []
    const number = 1 + Math.max(old?.number ?? 0, numberIn(known?.key.name ?? ''))
    return { number, trees, key: makeKey(head, dataDir, `${host}/witness/${number}`, trees) }
  })
  const row = rowOf(number, key, now())
  const current = await db.write(async (tx) => {
    await insertKey(tx, row)
    await deleteCosignatures(tx)
    for (const tree of trees) await keepTree(tx, tree, row.created_at)
    return currentKey(tx.db)
  })
  if (current !== undefined && equalHashes(current.public_key, key.publicKey)) return key
  throw new CodedError(
    'VALIDATION_ERROR',
    `Another node has made a new key at the same time. Copy ${BOTH_FILES} from it.`,
  )
}

/** The head comes first: without one for the new key, nothing signs with it. Call it while the head is locked. */
function makeKey(
  head: WitnessHead,
  dataDir: string,
  name: string,
  trees: readonly Checkpoint[],
): NoteKey {
  const seed = randomBytes(32)
  const key = keyOf({ name }, seed)
  head.write({ key, trees })
  rmSync(join(dataDir, WITNESS_KEY_FILE), { force: true })
  writeSecret(dataDir, WITNESS_KEY_FILE, seed)
  return key
}

function keyOf({ name }: Pick<NoteKey, 'name'>, seed: Buffer): NoteKey {
  const publicKey = Uint8Array.from(serviceKeyOf(seed).publicKey)
  return { name, type: 'cosignature', publicKey }
}

function rowOf(number: number, { name, publicKey }: NoteKey, at: number) {
  return { number, name, public_key: publicKey, created_at: at, halted_at: null }
}

/** The number at the end of a name that this service has made; 0 for another. */
function numberIn(name: string): number {
  return Number(/\/witness\/([1-9][0-9]{0,8})$/.exec(name)?.[1] ?? 0)
}
