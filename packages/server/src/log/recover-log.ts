import {
  type AgentEntry,
  type Checkpoint,
  CodedError,
  encodeBase64,
  entryFault,
  equalHashes,
  hashLeaf,
  isAgentEntry,
  type KnownAgent,
  knownAfter,
  type LogEntry,
  openCheckpoint,
  parseEntryBundle,
  parseLogEntry,
  readHashesFromTiles,
  TILE_WIDTH,
  type Tile,
  tileWidth,
  treeRoot,
  utf8,
} from '@countersign/protocol'
import type { Database, Db, Tx } from '../database/database.ts'
import type { LogEpochRow, LogQueueRow } from '../database/schema/log-rows.ts'
import { Ed25519Verifier, isValidSignature } from '../secrets/ed25519.ts'
import { LogAnchor } from './anchor.ts'
import { type AppliedEntries, applyEntries, tailOf } from './apply-entries.ts'
import { assertContains } from './halted.ts'
import {
  currentEpoch,
  deleteQueued,
  insertEntries,
  keyOfEpoch,
  lastEntriesOf,
  queuedOf,
  readHashesFromDatabase,
  tilesAt,
  updateEpoch,
  upsertTiles,
} from './log-table.ts'
import { TreeEdge } from './tree-edge.ts'

/** A copy of the log. */
export interface Mirror {
  /** The signed note. */
  checkpoint(): Promise<string>
  tile(tile: Tile): Promise<Uint8Array>
}

/** What a recovery has done, and what is left to the operator. */
export interface RecoveredLog extends AppliedEntries {
  /** Entries that were added. */
  readonly entries: number
}

export interface RecoverDeps {
  readonly db: Database
  readonly dataDir: string
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number
}

/**
 * Adds the entries that the database has lost from a copy of the log, and brings the agents to the state that they give, in one
 * transaction. The copy is verified: its checkpoint is signed by the log, contains what this machine has signed or served, and has
 * these entries, which keep the rules of the log: both keys have signed each rotation. Then its checkpoint is the anchor, if this machine had none. Repeating it
 * changes nothing.
 * @throws CodedError VALIDATION_ERROR if the copy does not fit; nothing is changed then
 */
export async function recoverLog(deps: RecoverDeps, mirror: Mirror): Promise<RecoveredLog> {
  const { db, dataDir, now } = deps
  const anchors = new LogAnchor(dataDir)
  const anchor = anchors.read()
  const epoch = await currentEpoch(db.read)
  if (epoch === undefined) throw refusal('The database has no log. Start the service once.')
  const { checkpoint, signed } = await openMirror(mirror, epoch)
  await assertFits(db.read, mirror, checkpoint, epoch, anchor)
  const entries = await fetchEntries(mirror, epoch.size, checkpoint.size)
  const edge = new TreeEdge(
    epoch.size,
    await tilesAt(db.read, epoch.epoch, TreeEdge.tilesOf(epoch.size)),
  )
  for (const { bytes } of entries) edge.append(hashLeaf(bytes))
  if (!equalHashes(edge.root(), checkpoint.root)) {
    throw refusal('The entries of the mirror are not those of its checkpoint.')
  }
  const added = entries.map(({ entry }) => entry).filter(isAgentEntry)
  await assertRules(db.read, epoch, entries)
  const recovered = await db.write(async (tx) => {
    if ((await currentEpoch(tx.db))?.size !== epoch.size)
      throw refusal('The log has changed meanwhile. Try again.')
    await insertEntries(
      tx,
      entries.map(({ entry, bytes }, i) => ({
        epoch: epoch.epoch,
        position: epoch.size + i,
        tail: tailOfEntry(entry),
        claim: null,
        entry: Buffer.from(bytes).toString(),
        salt: null,
        opening_owner: null,
        evidence: null,
      })),
    )
    await upsertTiles(tx, epoch.epoch, edge.takeTiles())
    const { size, root } = checkpoint
    const published = { published_size: size, published_root: root, checkpoint: signed }
    await updateEpoch(tx, epoch.epoch, { size, root, ...published, published_at: now() })
    await markComplete(tx, epoch, entries)
    const known = await dropQueued(tx, added)
    const applied = await applyEntries(tx, epoch.epoch, { added, known }, now())
    return { entries: entries.length, ...applied }
  })
  // Last: if this process ends before, the log is still halted, and the command can be run again.
  const isNewer = anchor?.origin !== epoch.origin || anchor.size < checkpoint.size
  if (isNewer) anchors.compareAndSwap(anchor, checkpoint)
  return recovered
}

/**
 * What everybody checks who verifies the log. A thief of its key can sign entries, but not for both keys of an agent.
 * @throws CodedError VALIDATION_ERROR
 */
async function assertRules(
  db: Db,
  { epoch, size }: LogEpochRow,
  entries: readonly FetchedEntry[],
): Promise<void> {
  const tails = new Set(entries.flatMap(({ entry }) => tailOfEntry(entry) ?? []))
  const known = new Map<string, KnownAgent>()
  for (const { tail, entry: text } of await lastEntriesOf(db, epoch, [...tails])) {
    const bytes = utf8(text)
    known.set(tail, knownAfter(parseLogEntry(bytes) as AgentEntry, hashLeaf(bytes), null))
  }
  for (const [i, { entry, bytes }] of entries.entries()) {
    if (!isAgentEntry(entry)) continue
    const before = known.get(tailOf(entry.did)) ?? null
    const fault = await entryFault(entry, before, isValidSignature)
    if (fault !== null)
      throw refusal(`Entry ${size + i} of the mirror, about ${entry.did}, ${fault}.`)
    known.set(tailOf(entry.did), knownAfter(entry, hashLeaf(bytes), before))
  }
}

/** The log is complete from an entry on that may be among those that were added. */
async function markComplete(
  tx: Tx,
  { epoch, size, complete_index }: LogEpochRow,
  entries: readonly FetchedEntry[],
): Promise<void> {
  const index = entries.findIndex(({ entry }) => entry.type === 'complete')
  const entry = entries[index]?.entry
  if (complete_index !== null || entry === undefined) return
  await updateEpoch(tx, epoch, { complete_index: size + index, complete_at: entry.at })
}

async function openMirror(mirror: Mirror, row: LogEpochRow) {
  const ed25519 = new Ed25519Verifier()
  const signed = await mirror.checkpoint()
  const opened = await openCheckpoint(signed, keyOfEpoch(row), (...args) => ed25519.verify(...args))
  if (opened !== null) return { checkpoint: opened.checkpoint, signed }
  throw refusal(`The checkpoint of the mirror is not signed by the key of ${row.origin}.`)
}

/** The mirror contains what is known, and continues what the database has. */
async function assertFits(
  db: Db,
  mirror: Mirror,
  checkpoint: Checkpoint,
  epoch: LogEpochRow,
  anchor: Checkpoint | null,
): Promise<void> {
  const read = readHashesFromTiles(checkpoint.size, (tile) => mirror.tile(tile))
  const rootAt = (size: number) => treeRoot(size, read)
  if (anchor !== null && anchor.origin === epoch.origin) {
    if (checkpoint.size < anchor.size) {
      throw refusal(
        `The mirror has ${checkpoint.size} entries, but ${anchor.size} were signed. Use a newer one.`,
      )
    }
    if (!equalHashes(await rootAt(anchor.size), anchor.root)) {
      throw refusal('The mirror is of another log than the one that was signed here.')
    }
  }
  if (epoch.size > checkpoint.size) {
    const { size, root } = checkpoint
    throw refusal(
      `The database has more entries than the mirror. If the mirror is the newest copy that you have: countersignd log accept --size ${size} --root ${encodeBase64(root)}`,
    )
  }
  await assertContains(db, epoch, epoch)
  const own = await treeRoot(epoch.size, readHashesFromDatabase(db, epoch.epoch, epoch.size))
  if (equalHashes(await rootAt(epoch.size), own)) return
  throw refusal(
    'The database has other entries than the mirror. Restore a backup from before that, or begin a new epoch: countersignd log new-epoch',
  )
}

interface FetchedEntry {
  readonly bytes: Uint8Array
  readonly entry: LogEntry
}

async function fetchEntries(mirror: Mirror, from: number, to: number): Promise<FetchedEntry[]> {
  const fetched: FetchedEntry[] = []
  for (let index = Math.floor(from / TILE_WIDTH); index * TILE_WIDTH < to; index++) {
    const width = tileWidth('entries', index, to)
    const bundle = parseEntryBundle(await mirror.tile({ level: 'entries', index, width })) ?? []
    const skipped = Math.max(0, from - index * TILE_WIDTH)
    for (const bytes of bundle.slice(skipped)) {
      const entry = parseLogEntry(bytes)
      if (entry === null) throw refusal('The mirror has an entry that is none.')
      fetched.push({ bytes, entry })
    }
  }
  return fetched
}

function tailOfEntry(entry: LogEntry): string | null {
  return isAgentEntry(entry) ? tailOf(entry.did) : null
}

/** A backup may have queued what got its place after it was made. @returns these changes, which the database has */
async function dropQueued(tx: Tx, added: readonly AgentEntry[]): Promise<LogQueueRow[]> {
  const byTail = Map.groupBy(added, ({ did }) => tailOf(did))
  const rows = await queuedOf(tx.db, [...byTail.keys()])
  const isKnown = (row: LogQueueRow) =>
    (byTail.get(row.tail) ?? []).some((entry) => isEntryOf(row, entry))
  const known = rows.filter(isKnown)
  await deleteQueued(
    tx,
    known.map(({ seq }) => seq),
  )
  return known
}

/** Whether an entry is that of a change which waited for its place. One that was held back has a time of its own. */
function isEntryOf({ entry: text, not_before: notBefore }: LogQueueRow, entry: AgentEntry) {
  const { type, at, key, keySequence } = JSON.parse(text) as AgentEntry
  const isSame = type === entry.type && key === entry.key && keySequence === entry.keySequence
  return isSame && (notBefore === 0 ? at === entry.at : at <= entry.at && entry.at <= notBefore)
}

function refusal(message: string): CodedError {
  return new CodedError('VALIDATION_ERROR', message)
}
