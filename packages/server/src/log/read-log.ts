import {
  type AgentEntry,
  type AgentLog,
  CodedError,
  emptyTreeRoot,
  encodeBase64,
  equalHashes,
  formatEntryBundle,
  formatLogProof,
  formatVerifierKey,
  hashLeaf,
  KEY_ENTRY_TYPES,
  LOG_ENTRY_MAX_BYTES,
  type LogInfo,
  parseTilePath,
  proveInclusion,
  type Tail,
  TILE_WIDTH,
  type Tile,
  TREE_HASH_BYTES,
  tileWidth,
  treeRoot,
  utf8,
  verifyInclusion,
} from '@countersign/protocol'
import { type AgentRecord, thumbprintOf } from '../agents/agent-record.ts'
import { agentByTail } from '../agents/agent-table.ts'
import { didOfAgent, type Site } from '../base/site.ts'
import { timestamp } from '../base/timestamp.ts'
import type { Database, Db } from '../database/database.ts'
import type { LogEntryRow, LogEpochRow } from '../database/schema/log-rows.ts'
import {
  allEpochs,
  entriesFrom,
  entriesOf,
  keyOfEpoch,
  readHashesFromDatabase,
  tilesAt,
} from './log-table.ts'
import type { ServedLog, TransparencyLog } from './transparency-log.ts'
import { merge } from './tree-edge.ts'
import { leafHash } from './tree-hash.ts'

export interface LogReadDeps {
  readonly db: Pick<Database, 'read'>
  readonly log: Pick<TransparencyLog, 'served' | 'problem' | 'halt'>
  readonly site: Site
}

const RETRY_SECONDS = 5
/** Entries in a response. */
const PAGE = 500

/**
 * The log to serve.
 * @param epoch its number; null: the current one
 * @throws CodedError NOT_FOUND; UNAVAILABLE if the current one is not served
 */
export async function servedLog(
  { db, log }: LogReadDeps,
  epoch: number | null,
): Promise<Pick<ServedLog, 'epoch' | 'origin' | 'size' | 'root' | 'signed'>> {
  const current = log.served
  if (current !== null && (epoch === null || epoch === current.epoch)) return current
  const rows = epoch === null ? [] : await allEpochs(db.read)
  const row = rows.find((each) => each.epoch === epoch)
  if (epoch !== null && row === undefined)
    throw new CodedError('NOT_FOUND', 'There is no such log.')
  // An epoch that has ended does not change any more.
  if (row?.checkpoint != null && row.epoch !== rows.at(-1)?.epoch) {
    const { published_size: size, published_root: root, checkpoint: signed, origin } = row
    return { epoch: row.epoch, origin, size, root: root ?? emptyTreeRoot(), signed }
  }
  throw new CodedError('UNAVAILABLE', log.problem === null ? STARTING : HALTED, {
    retryAfterSeconds: RETRY_SECONDS,
  })
}

const STARTING = 'The transparency log has no checkpoint to serve yet. Try again in a few seconds.'
const HALTED =
  'The transparency log is not served until the operator has repaired it: its data are not those that were signed.'

/** @throws CodedError NOT_FOUND, UNAVAILABLE */
export async function describeLog(deps: LogReadDeps): Promise<LogInfo> {
  const served = await servedLog(deps, null)
  const rows = await allEpochs(deps.db.read)
  const current = rows.find(({ epoch }) => epoch === served.epoch) as LogEpochRow
  const { complete_index: index, complete_at: at } = current
  return {
    origin: served.origin,
    epoch: served.epoch,
    verifierKey: verifierKeyOf(current),
    size: served.size,
    checkpointAt: timestamp(deps.log.served?.at ?? current.published_at ?? 0),
    completeFrom: index === null || at === null ? null : { index, at: timestamp(at) },
    epochs: rows.map((row) => ({
      epoch: row.epoch,
      origin: row.origin,
      verifierKey: verifierKeyOf(row),
      size: row.epoch === served.epoch ? served.size : row.published_size,
    })),
  }
}

/** The key of a log, as verifiers are configured with it. */
export function verifierKeyOf(row: LogEpochRow): string {
  return formatVerifierKey(keyOfEpoch(row))
}

/**
 * The bytes of a tile or of a bundle of entries.
 * @param path below the prefix of the log, such as `tile/0/000`
 * @throws CodedError NOT_FOUND for what is not under the checkpoint; UNAVAILABLE
 */
export async function readTile(
  deps: LogReadDeps,
  epoch: number | null,
  path: string,
): Promise<Uint8Array> {
  const tile = parseTilePath(path)
  const served = await servedLog(deps, epoch)
  if (tile === null || tile.width > tileWidth(tile.level, tile.index, served.size)) {
    throw new CodedError(
      'NOT_FOUND',
      `The log has no such tile under its checkpoint of ${served.size} entries.`,
    )
  }
  const bytes =
    tile.level === 'entries'
      ? await readBundle(deps.db.read, served, tile)
      : await readHashes(deps.db.read, served, tile.level, tile)
  return bytes ?? refuseDamaged(deps, served, path)
}

/**
 * Halts the log: what it serves would not be what was signed.
 * @throws CodedError UNAVAILABLE
 */
function refuseDamaged({ log }: LogReadDeps, { epoch, origin }: StoredTree, what: string): never {
  if (log.served?.epoch === epoch) {
    log.halt(
      `${what} of ${origin} in the database is not the one that was signed. Restore a backup and run: countersignd log recover --from <mirror>. Then restart the service.`,
    )
  }
  throw new CodedError('UNAVAILABLE', HALTED, { retryAfterSeconds: RETRY_SECONDS })
}

type StoredTree = Pick<ServedLog, 'epoch' | 'origin' | 'size' | 'root'>

/** @returns null if an entry does not have the hash that is in the tree */
async function readBundle(
  db: Db,
  tree: StoredTree,
  { index, width }: Tile,
): Promise<Uint8Array | null> {
  const rows = await entriesFrom(db, tree.epoch, index * TILE_WIDTH, width)
  const entries = rows.map(({ entry }) => utf8(entry))
  const isShort = entries.every(({ length }) => length < LOG_ENTRY_MAX_BYTES)
  const hashes = await readHashes(db, tree, 0, { index, width })
  const isSame = isShort && hashes && Buffer.concat(entries.map(leafHash)).equals(hashes)
  return isSame ? formatEntryBundle(entries) : null
}

/**
 * The hashes of a tile, compared with their hash in the tile above. The last tile of each level is compared with the root.
 * @returns null if they differ
 */
async function readHashes(
  db: Db,
  { epoch, size, root }: StoredTree,
  level: number,
  { index, width }: Pick<Tile, 'index' | 'width'>,
): Promise<Uint8Array | null> {
  const position = Math.floor(index / TILE_WIDTH)
  const above = { level: level + 1, position }
  const places = [{ level, position: index }, above]
  const [stored, parent] = await tilesAt(db, epoch, places)
  const inTree = tileWidth(level, index, size)
  const hashes = Buffer.from(stored?.hashes.subarray(0, inTree * TREE_HASH_BYTES) ?? [])
  if (stored?.level !== level || hashes.length < inTree * TREE_HASH_BYTES) return null
  if (inTree < TILE_WIDTH) {
    if (!(await hasRoot(db, epoch, size, root))) return null
  } else {
    const at = (index % TILE_WIDTH) * TREE_HASH_BYTES
    const logged = parent?.hashes.subarray(at, at + TREE_HASH_BYTES) ?? new Uint8Array()
    if (!Buffer.from(merge(hashesIn(hashes))).equals(logged)) return null
  }
  return hashes.subarray(0, width * TREE_HASH_BYTES)
}

/** Whether the last tile of each level has the hashes from which the root was made. */
async function hasRoot(db: Db, epoch: number, size: number, root: Uint8Array): Promise<boolean> {
  try {
    return equalHashes(await treeRoot(size, readHashesFromDatabase(db, epoch, size)), root)
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}

function hashesIn(tile: Uint8Array): Uint8Array[] {
  return Array.from({ length: tile.length / TREE_HASH_BYTES }, (_, i) =>
    tile.subarray(i * TREE_HASH_BYTES, (i + 1) * TREE_HASH_BYTES),
  )
}

/**
 * The entries about an agent under the checkpoint.
 * @param from the index to begin with
 * @throws CodedError UNAVAILABLE
 */
export async function logOfAgent(deps: LogReadDeps, tail: Tail, from: number): Promise<AgentLog> {
  const { epoch, origin, size } = await servedLog(deps, null)
  const rows = await entriesOf(deps.db.read, { epoch, tail, from, to: size }, PAGE)
  return {
    did: didOfAgent(deps.site, tail),
    origin,
    size,
    entries: rows.map(({ position, entry }) => {
      return { index: position, leaf: encodeBase64(hashLeaf(utf8(entry))), entry }
    }),
    next: nextOf(rows, PAGE),
  }
}

/** Where the next page begins; null: this is the last one. */
export function nextOf(rows: readonly LogEntryRow[], limit: number): number | null {
  return rows.length < limit ? null : (rows.at(-1)?.position ?? 0) + 1
}

/**
 * A proof that the current key of an agent is in the log (C2SP tlog-proof). `extra` is the entry.
 * @throws CodedError UNAVAILABLE if the entry is not yet under a checkpoint
 */
export async function proveKey(deps: LogReadDeps, tail: Tail): Promise<string> {
  const { epoch, origin, size, root, signed } = await servedLog(deps, null)
  const row = await currentKeyEntry(deps.db.read, { epoch, tail, from: 0, to: size })
  if (row === null) {
    const message =
      'The key of this agent is not yet under a checkpoint of the transparency log. Try again in a second.'
    throw new CodedError('UNAVAILABLE', message, { retryAfterSeconds: 1 })
  }
  const read = readHashesFromDatabase(deps.db.read, epoch, size)
  const path = await proveInclusion(row.position, size, read)
  const leaf = leafHash(utf8(row.entry))
  if (!verifyInclusion({ index: row.position, size, leaf, root }, path)) {
    return refuseDamaged(deps, { epoch, origin, size, root }, `Entry ${row.position}`)
  }
  return formatLogProof({ extra: utf8(row.entry), index: row.position, path, checkpoint: signed })
}

type EntriesRange = Parameters<typeof entriesOf>[1]

async function currentKeyEntry(db: Db, of: EntriesRange): Promise<LogEntryRow | null> {
  const agent = await agentByTail(db, of.tail)
  if (agent === undefined) return null
  const key = Buffer.from(agent.key_thumbprint).toString('base64url')
  return findKeyEntry(db, of, { key, keySequence: agent.key_sequence })
}

/** The entry that made a key the current one of an agent. A restored database can give the same number to another key. */
async function findKeyEntry(
  db: Db,
  of: EntriesRange,
  { key, keySequence }: Pick<AgentEntry, 'key' | 'keySequence'>,
): Promise<LogEntryRow | null> {
  for (let from: number | null = of.from; from !== null; ) {
    const rows = await entriesOf(db, { ...of, from }, PAGE)
    const found = rows.find((row) => {
      const entry = JSON.parse(row.entry) as AgentEntry
      const isKey = entry.keySequence === keySequence && entry.key === key
      return isKey && KEY_ENTRY_TYPES.includes(entry.type)
    })
    if (found !== undefined) return found
    from = nextOf(rows, PAGE)
  }
  return null
}

/** About 300 bytes each. */
const MAX_KEYS = 50_000

/** The place of an agent's current key in the log. It shows that the key was logged, not that the agent is still active. */
export interface LoggedKey {
  /** The name of the log. */
  readonly origin: string
  /** The index of the entry. */
  readonly index: number
  /** When the newest checkpoint was signed, in milliseconds since the Unix epoch. The entry is under it. */
  readonly checkpointAt: number
  /** Names of the witnesses that have cosigned that checkpoint. */
  readonly cosigners: readonly string[]
}

interface KnownKey extends Pick<ServedLog, 'epoch' | 'size'> {
  readonly keySequence: number
  readonly publicKey: Uint8Array
  /** Null: it is not among the first `size` entries. */
  readonly index: number | null
}

/** Finds the entries of agents' keys under the checkpoint that this node serves. An entry never moves, so it is read once. */
export class LoggedKeys {
  readonly #deps: Pick<LogReadDeps, 'db' | 'log'>
  readonly #keys = new Map<string, KnownKey>()

  constructor(deps: Pick<LogReadDeps, 'db' | 'log'>) {
    this.#deps = deps
  }

  /** @returns null if the current key is not yet under a checkpoint, or the log is halted */
  async find(agent: AgentRecord): Promise<LoggedKey | null> {
    const { served } = this.#deps.log
    if (served === null) return null
    const known = this.#known(agent, served)
    return loggedKeyOf(served, known === undefined ? await this.#read(agent, served) : known)
  }

  /** As `find`, without a query. @returns undefined if one is needed */
  known(agent: AgentRecord): LoggedKey | null | undefined {
    const { served } = this.#deps.log
    if (served === null) return null
    const index = this.#known(agent, served)
    return index === undefined ? undefined : loggedKeyOf(served, index)
  }

  #known(agent: AgentRecord, { epoch, size }: ServedLog): number | null | undefined {
    const known = this.#keys.get(agent.tail)
    if (known === undefined || !isSameKey(known, agent, epoch)) return undefined
    return known.index !== null || known.size >= size ? known.index : undefined
  }

  async #read(agent: AgentRecord, { epoch, size }: ServedLog): Promise<number | null> {
    const { tail, publicKey } = agent
    const { keySequence } = agent.profile
    const known = this.#keys.get(tail)
    const from = known !== undefined && isSameKey(known, agent, epoch) ? known.size : 0
    const of = { epoch, tail, from, to: size }
    const entry = await findKeyEntry(this.#deps.db.read, of, {
      key: thumbprintOf(agent),
      keySequence,
    })
    const index = entry?.position ?? null
    this.#keys.delete(tail)
    this.#keys.set(tail, { epoch, size, keySequence, publicKey, index })
    if (this.#keys.size > MAX_KEYS) {
      const [oldest] = this.#keys.keys()
      if (oldest !== undefined) this.#keys.delete(oldest)
    }
    return index
  }
}

function isSameKey(known: KnownKey, agent: AgentRecord, epoch: number): boolean {
  return (
    known.epoch === epoch &&
    known.keySequence === agent.profile.keySequence &&
    Buffer.compare(known.publicKey, agent.publicKey) === 0
  )
}

function loggedKeyOf(
  { origin, at: checkpointAt, cosigners }: ServedLog,
  index: number | null,
): LoggedKey | null {
  return index === null ? null : { origin, index, checkpointAt, cosigners }
}
