import { randomInt } from 'node:crypto'
import {
  type AgentEntry,
  asLogEntry,
  COMMITMENT_SALT_BYTES,
  didOf,
  encodeBase64,
  entryFault,
  formatLogEntry,
  type JsonValue,
  type KnownAgent,
  knownAfter,
  type LogEntry,
  type Naming,
  parseLogEntry,
  type Tail,
  utf8,
} from '@countersign/protocol'
import { ownersOfMoved } from '../agents/agent-table.ts'
import type { LoggedChange } from '../agents/changes/changes.ts'
import type { ClaimLog } from '../agents/claims/mint.ts'
import type { Db, Tx } from '../database/database.ts'
import type { LogQueueRow } from '../database/schema/log-rows.ts'
import { isValidSignature } from '../secrets/ed25519.ts'
import { LogHaltedError } from './halted.ts'
import type { KnownStates, LogState } from './known-states.ts'
import {
  currentEpoch,
  deleteQueued,
  dueChanges,
  insertEntries,
  lastEntriesOf,
  postponeChange,
  tilesAt,
  updateEpoch,
  upsertTiles,
  waitingChanges,
} from './log-table.ts'
import { entriesOfOwners, setEntriesOfOwner } from './quota-table.ts'
import { TreeEdge } from './tree-edge.ts'
import { commitmentOf, leafHash } from './tree-hash.ts'

export interface SequenceDeps {
  readonly naming: Naming
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number
  readonly randomBytes: (count: number) => Uint8Array
}

/** Changes in one transaction at most, because other writers on all nodes wait for it. */
export const SEQUENCE_BATCH = 500

/**
 * How many entries about grades and channels an owner can cause a day. Further ones wait until the next day. Claims, keys and
 * status are never held back: relying parties decide by them.
 */
export const DAILY_ENTRIES_OF_OWNER = 10_000
const DAY_MS = 86_400_000
const COUNTED: readonly string[] = ['grade', 'channel_verified', 'channel_lost']

/** An entry without its place, and what its commitment opens to. */
export interface NewEntry {
  readonly tail: string | null
  /** The number of the claim that it records; null: of none. */
  readonly claim: number | null
  /** `did`, `prev` and `commitment` are added for an entry about an agent. */
  readonly members: Readonly<Record<string, JsonValue>>
  /** Canonical JSON; null: erased, so that nothing opens the commitment. */
  readonly evidence: string | null
  /** The owner who has given the agent away meanwhile, who alone may read the opening; null or absent: the agent's owner. */
  readonly openingOwner?: number | null
}

/** How claims get their places at once. */
export interface AppendDeps extends Pick<SequenceDeps, 'naming' | 'randomBytes'> {
  readonly states: KnownStates
}

/** The log as claims need it. */
export function claimLogOf(deps: AppendDeps): ClaimLog {
  return { appendClaims: (tx, claims) => appendClaims(deps, tx, claims) }
}

/**
 * Gives claims their places in the log in the transaction that makes them, which writes each of them once instead of twice.
 * @returns false: nothing was done, because the log is in no known state
 */
async function appendClaims(
  deps: AppendDeps,
  tx: Tx,
  claims: readonly LoggedChange[],
): Promise<boolean> {
  const row = await currentEpoch(tx.db)
  if (row === undefined || !deps.states.confirm(row)) return false
  const entries = claims.map(({ seq, tail, members, evidence }) => {
    return { tail, claim: seq, members, evidence }
  })
  try {
    const edge = deps.states.takeEdge(row) ?? (await edgeOf(tx.db, row))
    // A new agent has no entry before its claim.
    const state = await append(deps, tx, row, entries, { last: new Map(), edge })
    deps.states.advance(row, state, edge)
    return true
  } catch (error) {
    // The log is broken, which its next step reports. Claims go on.
    if (error instanceof LogHaltedError || error instanceof RangeError) return false
    throw error
  }
}

/**
 * Gives the changes that are due their places in the log: index, `prev`, commitment, tiles and root, in the caller's transaction.
 * Write transactions run one after another across all nodes, so there is one sequencer at a time.
 * @returns how many changes it has taken from the queue or held back; below `SEQUENCE_BATCH`: no more are due
 * @throws LogHaltedError `broken-row` if one of them cannot follow the entry before it about the same agent
 */
export async function sequenceBatch(deps: SequenceDeps & AppendDeps, tx: Tx): Promise<number> {
  const epoch = await currentEpoch(tx.db)
  if (epoch === undefined) return 0
  const now = deps.now()
  const due = await dueChanges(tx.db, now, SEQUENCE_BATCH)
  if (due.length === 0) return 0
  const admitted = await holdBack(tx, due, now)
  const rows = inOrder([...admitted, ...(await waitingWith(tx, admitted))])
  const { states } = deps
  const isKnown = states.confirm(epoch)
  const edge = states.takeEdge(epoch) ?? (await edgeOf(tx.db, epoch))
  const owners = await ownersOfMoved(tx.db, [...new Set(rows.map(({ tail }) => tail))])
  const entries = rows.map((row) => newEntry(row, owners.get(row.tail), now))
  const last = await lastEntries(tx.db, epoch, entries)
  const state = await append(deps, tx, epoch, entries, { last, edge })
  if (isKnown) states.advance(epoch, state, edge)
  await deleteQueued(
    tx,
    rows.map(({ seq }) => seq),
  )
  return due.length
}

/** Postpones what is above the daily quota of its owner. @returns the rest */
async function holdBack(tx: Tx, due: readonly LogQueueRow[], now: number): Promise<LogQueueRow[]> {
  const day = Math.floor(now / DAY_MS)
  const counted = due.filter(({ type, owner_id }) => owner_id !== null && COUNTED.includes(type))
  const owners = [...new Set(counted.map(({ owner_id }) => owner_id as number))]
  const counts = await entriesOfOwners(tx.db, owners, day)
  const held = new Set<number>()
  for (const { seq, owner_id } of counted) {
    const count = counts.get(owner_id as number) ?? 0
    if (count >= DAILY_ENTRIES_OF_OWNER) held.add(seq)
    else counts.set(owner_id as number, count + 1)
  }
  for (const owner of owners) await setEntriesOfOwner(tx, owner, day, counts.get(owner) ?? 0)
  // Spread over the next day, so that they do not show together which agents have one owner.
  for (const seq of held) await postponeChange(tx, seq, (day + 1) * DAY_MS + randomInt(DAY_MS))
  return due.filter(({ seq }) => !held.has(seq))
}

/** What waits of agents whose status or key has changed: entries about one agent stay in order. */
async function waitingWith(tx: Tx, due: readonly LogQueueRow[]): Promise<LogQueueRow[]> {
  const urgent = due.filter(({ type }) => type === 'status' || type.startsWith('key_'))
  const tails = new Set(urgent.map(({ tail }) => tail))
  return waitingChanges(tx.db, [...tails])
}

/**
 * Each change once, and those of one agent in the order of the events: a grade after a rotation names the new key, and must not come
 * before it. The others stay in the order in which they were due, which is random if it was spread.
 */
function inOrder(rows: readonly LogQueueRow[]): LogQueueRow[] {
  const once = [...new Map(rows.map((row) => [row.seq, row] as const)).values()]
  const ofAgent = Map.groupBy(once, ({ tail }) => tail)
  for (const each of ofAgent.values()) each.sort((a, b) => a.seq - b.seq)
  return once.map(({ tail }) => ofAgent.get(tail)?.shift() as LogQueueRow)
}

function newEntry(
  { seq, tail, owner_id: ownerId, type, entry, evidence, not_before: notBefore }: LogQueueRow,
  ownerNow: number | undefined,
  now: number,
): NewEntry {
  const members = JSON.parse(entry) as Record<string, JsonValue>
  // An entry that waited has a time of its own: that of the change would tell which agents changed together.
  const at = notBefore === 0 ? {} : { at: Math.min(notBefore, now) }
  const claim = type === 'claimed' ? seq : null
  const openingOwner = ownerNow === undefined || ownerId === ownerNow ? null : ownerId
  return { tail, claim, members: { ...members, ...at }, evidence, openingOwner }
}

/**
 * Appends entries to a log, with their tiles and the new root.
 * @throws LogHaltedError `broken-row`
 */
export async function appendEntries(
  deps: Pick<SequenceDeps, 'naming' | 'randomBytes'>,
  tx: Tx,
  row: LogPlace,
  entries: readonly NewEntry[],
): Promise<void> {
  if (entries.length === 0) return
  const last = await lastEntries(tx.db, row, entries)
  await append(deps, tx, row, entries, { last, edge: await edgeOf(tx.db, row) })
}

type LogPlace = Pick<LogState, 'epoch' | 'size'>

/** @throws RangeError if tiles are missing */
async function edgeOf(db: Db, { epoch, size }: LogPlace): Promise<TreeEdge> {
  return new TreeEdge(size, await tilesAt(db, epoch, TreeEdge.tilesOf(size)))
}

/** The last entries about the agents of new ones, by tail. @throws LogHaltedError `broken-row` */
async function lastEntries(
  db: Db,
  { epoch }: LogPlace,
  entries: readonly NewEntry[],
): Promise<Map<string, LastEntry>> {
  const tails = new Set(entries.flatMap(({ tail }) => tail ?? []))
  const stored = await lastEntriesOf(db, epoch, [...tails])
  return new Map(stored.map(({ tail, entry }) => [tail, lastEntry(entry)] as const))
}

/**
 * Appends entries. Nothing is written if it throws.
 * @param last the last entries about their agents, by tail; the new ones are added
 * @param edge of the tree, which grows
 * @returns the new state
 * @throws LogHaltedError `broken-row`
 */
async function append(
  { naming, randomBytes }: Pick<SequenceDeps, 'naming' | 'randomBytes'>,
  tx: Tx,
  { epoch, size }: LogPlace,
  entries: readonly NewEntry[],
  { last, edge }: { readonly last: Map<string, LastEntry>; readonly edge: TreeEdge },
): Promise<LogState> {
  const salts = randomBytes(entries.length * COMMITMENT_SALT_BYTES)
  const rows = []
  for (const [i, { tail, claim, members, evidence, openingOwner = null }] of entries.entries()) {
    const salt = salts.subarray(i * COMMITMENT_SALT_BYTES, (i + 1) * COMMITMENT_SALT_BYTES)
    const known = tail === null ? null : knownBy(last.get(tail))
    const ofAgent =
      tail === null
        ? {}
        : {
            did: didOf(naming, tail as Tail),
            prev: known && encodeBase64(known.leaf),
            commitment: commitmentOf(naming, salt, evidence ?? 'null'),
          }
    const entry: Readonly<Record<string, JsonValue>> = { v: 1, ...members, ...ofAgent }
    const bytes = formatLogEntry(entry as unknown as LogEntry)
    const leaf = leafHash(bytes)
    if (tail !== null) {
      const place = `${size + i}, about agent ${tail}`
      last.set(tail, { entry: await checked(entry, known, place), leaf })
    }
    edge.append(leaf)
    const isOpenable = tail !== null && evidence !== null
    rows.push({
      epoch,
      position: size + i,
      tail,
      claim,
      entry: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(),
      salt: isOpenable ? salt : null,
      evidence: isOpenable ? evidence : null,
      opening_owner: openingOwner,
    })
  }
  await insertEntries(tx, rows)
  await upsertTiles(tx, epoch, edge.takeTiles())
  const state = { size: edge.size, root: edge.root() }
  await updateEpoch(tx, epoch, state)
  return { epoch, ...state }
}

/** The last entry about an agent. */
interface LastEntry {
  readonly entry: AgentEntry
  readonly leaf: Uint8Array
}

/** @throws LogHaltedError `broken-row` */
function lastEntry(text: string): LastEntry {
  const bytes = utf8(text)
  const entry = parseLogEntry(bytes) as AgentEntry | null
  if (entry === null) throw broken(`the last entry of an agent is none: ${text.slice(0, 200)}`)
  return { entry, leaf: leafHash(bytes) }
}

/** Entries about one agent are in order, so that the last one has its newest key. */
function knownBy(last: LastEntry | undefined): KnownAgent | null {
  return last === undefined ? null : knownAfter(last.entry, last.leaf, null)
}

/**
 * Checks an entry as everybody who verifies the log does.
 * @param place of the entry, for the message
 * @throws LogHaltedError `broken-row`
 */
async function checked(
  members: Readonly<Record<string, JsonValue>>,
  known: KnownAgent | null,
  place: string,
): Promise<AgentEntry> {
  const entry = asLogEntry(members) as AgentEntry | null
  if (entry === null) throw broken(`entry ${place}, is not an entry of this format`)
  const fault = await entryFault(entry, known, isValidSignature)
  if (fault !== null) throw broken(`entry ${place}, ${fault}`)
  return entry
}

function broken(what: string): LogHaltedError {
  return new LogHaltedError(
    'broken-row',
    `The next entry would break the rules of the log, because the database was changed: ${what}. Restore a backup and run: countersignd log recover --from <mirror>`,
  )
}
