import { randomInt } from 'node:crypto'
import { STATUS_LIST_LENGTH, type StatusValue } from '@countersign/protocol'
import { sql } from 'kysely'
import type { Db, StatusEntryRow, StatusListRow, Tx } from '../../database/database.ts'
import { appendEvent } from '../../database/event-table.ts'
import { prepared } from '../../database/prepared.ts'
import type { CertifiedState } from './certified-state.ts'
import { appendFeedChange } from './feed-change-table.ts'

/** A list is full at 90 percent. Up to there, a random free entry is found in ten attempts on average. */
const LIST_CAPACITY = Math.floor(STATUS_LIST_LENGTH * 0.9)
/** The highest number of a list: that of a PostgreSQL `integer`. */
const MAX_LIST = 2 ** 31 - 1

/** SQLite uses a partial index only if the query repeats the index's condition as a constant. */
const current = sql<boolean>`is_current = 1`
const restricted = sql<boolean>`value <> 0`

const selectCurrent = prepared<{ tail: string }, StatusEntryRow>((db, param) =>
  db.selectFrom('status_entries').selectAll().where('tail', '=', param('tail')).where(current),
)

/** The entry to which an agent's next certificate refers; undefined if it has none yet. */
export async function currentEntry(db: Db, tail: string): Promise<StatusEntryRow | undefined> {
  return (await selectCurrent(db, { tail }))[0]
}

/** The current entries of several agents. */
export async function currentEntriesOf(
  db: Db,
  tails: readonly string[],
): Promise<StatusEntryRow[]> {
  // PostgreSQL rejects `in ()`.
  if (tails.length === 0) return []
  return db
    .selectFrom('status_entries')
    .selectAll()
    .where('tail', 'in', tails)
    .where(current)
    .execute()
}

function selectLive(db: Db) {
  return db
    .selectFrom('delegations')
    .innerJoin('status_entries', (join) =>
      join
        .onRef('status_entries.list', '=', 'delegations.list')
        .onRef('status_entries.idx', '=', 'delegations.idx'),
    )
    .selectAll('status_entries')
    .where(sql<boolean>`delegations.ended_at is null`)
}

const selectLiveEntries = prepared<{ tail: string }, StatusEntryRow>((db, param) =>
  selectLive(db).where('delegations.tail', '=', param('tail')),
)

/** The entries of an agent's groups of delegations that have not ended. */
export function delegationEntries(db: Db, tail: string): Promise<StatusEntryRow[]> {
  return selectLiveEntries(db, { tail })
}

/** The same of several agents. */
export async function delegationEntriesOf(
  db: Db,
  tails: readonly string[],
): Promise<StatusEntryRow[]> {
  // PostgreSQL rejects `in ()`.
  if (tails.length === 0) return []
  return selectLive(db).where('delegations.tail', 'in', tails).execute()
}

const selectOpenList = prepared<{ capacity: number }, { list: number }>((db, param) =>
  db
    .selectFrom('status_lists')
    .select('list')
    .where('is_closed', '=', 0)
    .where('allocated', '<', param('capacity'))
    .limit(1),
)

const insertEntry = prepared<StatusEntryRow, { idx: number }>((db, param) =>
  db
    .insertInto('status_entries')
    .values({
      list: param('list'),
      idx: param('idx'),
      tail: param('tail'),
      key_sequence: param('key_sequence'),
      grade: param('grade'),
      identity_method: param('identity_method'),
      assurance: param('assurance'),
      delegation_depth: param('delegation_depth'),
      value: param('value'),
      is_current: param('is_current'),
      changed_seq: param('changed_seq'),
      allocated_at: param('allocated_at'),
    })
    // Of this entry only: a second current entry of the agent is an error.
    .onConflict((conflict) => conflict.columns(['list', 'idx']).doNothing())
    .returning('idx'),
)

const countAllocation = prepared<{ list: number }, object>((db, param) =>
  db
    .updateTable('status_lists')
    .set((eb) => ({ allocated: eb('allocated', '+', 1) }))
    .where('list', '=', param('list')),
)

/**
 * Allocates a random entry that was never allocated, with the value 0. The event makes a lost allocation noticeable after a
 * failover: nobody could revoke a certificate that refers to it.
 * @param is_current 0: for one group of delegations. 1: as the current one of an agent
 * @throws Error if it is to be the current one, and the agent has one
 */
export async function allocateEntry(
  tx: Tx,
  tail: string,
  certified: CertifiedState,
  at: number,
  is_current: StatusEntryRow['is_current'] = 1,
): Promise<StatusEntryRow> {
  const list = await openList(tx)
  const seq = tx.nextSeq()
  for (;;) {
    const row: StatusEntryRow = {
      list,
      idx: randomInt(STATUS_LIST_LENGTH),
      tail,
      ...columnsOf(certified),
      value: 0,
      is_current,
      changed_seq: seq,
      allocated_at: at,
    }
    if ((await insertEntry(tx.db, row)).length === 0) continue
    await countAllocation(tx.db, { list })
    const payload = { list, idx: row.idx }
    const type = 'status.allocated'
    await appendEvent(tx, { seq, at, type, tail: null, ownerId: null, payload })
    return row
  }
}

async function openList(tx: Tx): Promise<number> {
  const open = (await selectOpenList(tx.db, { capacity: LIST_CAPACITY }))[0]
  if (open !== undefined) return open.list
  for (;;) {
    const list = randomInt(1, MAX_LIST)
    const inserted = await tx.db
      .insertInto('status_lists')
      .values({ list, allocated: 0, is_closed: 0 })
      .onConflict((conflict) => conflict.doNothing())
      .returning('list')
      .execute()
    if (inserted.length > 0) return list
  }
}

type NewState = Pick<StatusEntryRow, 'list' | 'idx' | 'value' | 'is_current' | 'changed_seq'>

const updateState = prepared<NewState, object>((db, param) =>
  db
    .updateTable('status_entries')
    .set({
      value: param('value'),
      is_current: param('is_current'),
      changed_seq: param('changed_seq'),
    })
    .where('list', '=', param('list'))
    .where('idx', '=', param('idx')),
)

/** Sets the value of an entry and appends it to the feed. An invalid entry is no longer the agent's current one; that of a group never is. */
export async function setEntry(
  tx: Tx,
  { list, idx, is_current: wasCurrent }: Pick<StatusEntryRow, 'list' | 'idx' | 'is_current'>,
  value: StatusValue,
  at: number,
): Promise<void> {
  const change = { list, idx, status: value }
  // First, since it may begin an epoch.
  const { n, chain } = await appendFeedChange(tx, change, at)
  const seq = tx.nextSeq()
  const is_current = value === 1 ? 0 : wasCurrent
  await updateState(tx.db, { list, idx, value, is_current, changed_seq: seq })
  const payload = { ...change, n, chain: Buffer.from(chain).toString('base64url') }
  await appendEvent(tx, { seq, at, type: 'status.changed', tail: null, ownerId: null, payload })
}

/** Records that certificates with this entry may state more than before. */
export async function setCertifiedState(
  tx: Tx,
  { list, idx }: Pick<StatusEntryRow, 'list' | 'idx'>,
  certified: CertifiedState,
): Promise<void> {
  await tx.db
    .updateTable('status_entries')
    .set(columnsOf(certified))
    .where('list', '=', list)
    .where('idx', '=', idx)
    .execute()
}

/** Erases what the certificates of agents have stated of their owner, and how far the agents were allowed to delegate. */
export async function eraseCertifiedIdentity(tx: Tx, tails: readonly string[]): Promise<void> {
  await tx.db
    .updateTable('status_entries')
    .set({ identity_method: null, assurance: null, delegation_depth: 0 })
    .where('tail', 'in', tails)
    .execute()
}

/** Makes an entry invalid and allocates another one for the same agent. */
export async function replaceEntry(
  tx: Tx,
  entry: StatusEntryRow,
  certified: CertifiedState,
  at: number,
): Promise<StatusEntryRow> {
  await setEntry(tx, entry, 1, at)
  return allocateEntry(tx, entry.tail, certified, at)
}

function columnsOf(certified: CertifiedState) {
  return {
    key_sequence: certified.keySequence,
    grade: certified.grade,
    identity_method: certified.identityMethod,
    assurance: certified.assurance,
    delegation_depth: certified.maxDelegationDepth,
  }
}

/** All lists. */
export function statusLists(db: Db): Promise<StatusListRow[]> {
  return db.selectFrom('status_lists').selectAll().orderBy('list').execute()
}

/** The entries of a list with `from` <= idx < `to` that have a row. @param onlyRestricted leaves out those that are valid */
export function entriesBetween(
  db: Db,
  list: number,
  range: { readonly from: number; readonly to: number; readonly onlyRestricted: boolean },
): Promise<Pick<StatusEntryRow, 'idx' | 'value'>[]> {
  const entries = db
    .selectFrom('status_entries')
    .select(['idx', 'value'])
    .where('list', '=', list)
    .where('idx', '>=', range.from)
    .where('idx', '<', range.to)
  return (range.onlyRestricted ? entries.where(restricted) : entries).execute()
}
