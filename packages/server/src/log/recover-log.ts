import {
  type AgentEntry,
  type Checkpoint,
  CodedError,
  equalHashes,
  hashLeaf,
  isAgentEntry,
  KEY_COMPROMISED,
  type LogEntry,
  openCheckpoint,
  parseEntryBundle,
  parseLogEntry,
  readHashesFromTiles,
  TILE_WIDTH,
  type Tile,
  tileWidth,
  treeRoot,
} from '@countersign/protocol'
import { agentByTail } from '../agents/agent-table.ts'
import { burnKey, revokeAgent, setStatus } from '../agents/changes/set-status.ts'
import type { Database, Db, Tx } from '../database/database.ts'
import type { LogEpochRow, LogQueueRow } from '../database/schema/log-rows.ts'
import { Ed25519Verifier, thumbprintBytes } from '../secrets/ed25519.ts'
import { LogAnchor } from './anchor.ts'
import {
  currentEpoch,
  deleteQueued,
  insertEntries,
  keyOfEpoch,
  queuedOf,
  readHashesFromDatabase,
  tilesAt,
  updateEpoch,
  upsertTiles,
} from './log-table.ts'
import { assertContains } from './transparency-log.ts'
import { TreeEdge } from './tree-edge.ts'

/** A copy of the log. */
export interface Mirror {
  /** The signed note. */
  checkpoint(): Promise<string>
  tile(tile: Tile): Promise<Uint8Array>
}

/** What a recovery has done, and what is left to the operator. */
export interface RecoveredLog {
  /** Entries that were added. */
  readonly entries: number
  /** DIDs of agents whose revocation or suspension was applied again. */
  readonly applied: readonly string[]
  /** DIDs of agents whose key has changed in entries that were added: the database has an older key. */
  readonly keys: readonly string[]
  /** DIDs that were claimed in entries that were added, which the database does not know. */
  readonly unknown: readonly string[]
}

export interface RecoverDeps {
  readonly db: Database
  readonly dataDir: string
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number
}

/**
 * Adds the entries that the database has lost from a copy of the log, and applies the revocations, suspensions and burned keys in
 * them again. The copy is verified: its checkpoint is signed by the log, contains what this machine has signed or served, and has
 * these entries.
 * @throws CodedError VALIDATION_ERROR if the copy does not fit; nothing is changed then
 */
export async function recoverLog(deps: RecoverDeps, mirror: Mirror): Promise<RecoveredLog> {
  const { db, dataDir, now } = deps
  const epoch = await currentEpoch(db.read)
  if (epoch === undefined) throw refusal('The database has no log. Start the service once.')
  const { checkpoint, signed } = await openMirror(mirror, epoch)
  await assertFits(db.read, mirror, checkpoint, epoch, new LogAnchor(dataDir).read())
  const entries = await fetchEntries(mirror, epoch.size, checkpoint.size)
  const edge = new TreeEdge(
    epoch.size,
    await tilesAt(db.read, epoch.epoch, TreeEdge.tilesOf(epoch.size)),
  )
  for (const { bytes } of entries) edge.append(hashLeaf(bytes))
  if (!equalHashes(edge.root(), checkpoint.root)) {
    throw refusal('The entries of the mirror are not those of its checkpoint.')
  }
  return db.write(async (tx) => {
    if ((await currentEpoch(tx.db))?.size !== epoch.size)
      throw refusal('The log has changed meanwhile. Try again.')
    await insertEntries(
      tx,
      entries.map(({ entry, bytes }, i) => ({
        epoch: epoch.epoch,
        position: epoch.size + i,
        tail: tailOfEntry(entry),
        entry: Buffer.from(bytes).toString(),
        salt: null,
        evidence: null,
      })),
    )
    await upsertTiles(tx, epoch.epoch, edge.tiles())
    const { size, root } = checkpoint
    const published = { published_size: size, published_root: root, checkpoint: signed }
    await updateEpoch(tx, epoch.epoch, { size, root, ...published, published_at: now() })
    const added = entries.map(({ entry }) => entry).filter(isAgentEntry)
    await dropQueued(tx, added)
    return { entries: entries.length, ...(await applyAgain(tx, added, now())) }
  })
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
  if (epoch.size > checkpoint.size) throw refusal('The database has more entries than the mirror.')
  await assertContains(db, epoch.epoch, epoch, epoch)
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
  return isAgentEntry(entry) ? entry.did.slice(-24) : null
}

/** A backup may have queued what got its place after it was made. */
async function dropQueued(tx: Tx, added: readonly AgentEntry[]): Promise<void> {
  const known = new Set(added.map((entry) => keyOf(entry.did.slice(-24), entry)))
  const tails = [...new Set(added.map(({ did }) => did.slice(-24)))]
  const rows = await queuedOf(tx.db, tails)
  const isKnown = ({ tail, entry }: LogQueueRow) =>
    known.has(keyOf(tail, JSON.parse(entry) as AgentEntry))
  await deleteQueued(
    tx,
    rows.filter(isKnown).map(({ seq }) => seq),
  )
}

function keyOf(tail: string, { type, at, keySequence }: AgentEntry): string {
  return [tail, type, at, keySequence].join()
}

async function applyAgain(
  tx: Tx,
  added: readonly AgentEntry[],
  now: number,
): Promise<Omit<RecoveredLog, 'entries'>> {
  const applied = new Set<string>()
  const keys = new Set<string>()
  const unknown = new Set<string>()
  for (const entry of added) {
    const agent = await agentByTail(tx.db, entry.did.slice(-24))
    if (agent === undefined) unknown.add(entry.did)
    else if (agent.key_sequence < entry.keySequence) keys.add(entry.did)
    if (agent === undefined || entry.type !== 'status' || entry.status === 'active') continue
    const { status: to, reason, by: setBy } = entry
    if (to === 'revoked' && agent.status !== 'revoked') {
      await revokeAgent(tx, agent, { reason, setBy }, now)
      applied.add(entry.did)
    } else if (to === 'suspended' && agent.status === 'active') {
      const isBurned = reason === KEY_COMPROMISED && isKey(agent.public_key, entry.key)
      if (isBurned) await burnKey(tx, agent.public_key, now)
      else await setStatus(tx, agent.tail, { to, reason, setBy }, now)
      applied.add(entry.did)
    }
  }
  return { applied: [...applied], keys: [...keys], unknown: [...unknown] }
}

function isKey(publicKey: Uint8Array, thumbprint: string): boolean {
  return Buffer.from(thumbprintBytes(publicKey)).toString('base64url') === thumbprint
}

function refusal(message: string): CodedError {
  return new CodedError('VALIDATION_ERROR', message)
}
