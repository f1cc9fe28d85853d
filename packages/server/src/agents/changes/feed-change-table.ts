import { randomBytes } from 'node:crypto'
import { type ChainedChange, chainAfter, chainStart, type FeedChange } from '@countersign/protocol'
import type { Database, Db, Tx } from '../../database/database.ts'
import { appendEvent } from '../../database/event-table.ts'
import { prepared } from '../../database/prepared.ts'
import { storedBaseUrl } from '../../database/same-base-url.ts'
import type { FeedChangeRow } from '../../database/schema/status-rows.ts'
import { EPOCH_SETTING, readSetting, writeSetting } from '../../database/settings-table.ts'

/*
 * The changes of status entries, numbered from 1 in each epoch and chained by hashes. An epoch is a time in which no event was
 * lost. When a restore or a failover has lost events, a new one begins: certificates may refer to entries that the database does
 * not know, and could no longer be revoked. So all lists are closed.
 */

/** The place in the feed after the newest change. */
export interface FeedEnd {
  readonly epoch: string
  /** Of the newest change; 0: there was none in this epoch. */
  readonly n: number
  /** 32 bytes: SHA-256 over all changes up to `n`. */
  readonly chain: Uint8Array
}

/**
 * Where the feed ends within a transaction, so that one with many changes reads it once. What is rolled back, whole or to a
 * savepoint, never shares its numbering of events with what comes after it (`database/group-commit.ts`), so no number outlives a
 * rollback. Copies of a `Tx` (`log recover`) share it.
 */
const ends = new WeakMap<Tx['nextSeq'], FeedEnd>()

const selectNewest = prepared<{ setting: string }, FeedEnd>((db, param) =>
  db
    .selectFrom('feed_changes')
    .select(['epoch', 'n', 'chain'])
    .where('epoch', '=', (eb) =>
      eb.selectFrom('settings').select('settings.value').where('name', '=', param('setting')),
    )
    .orderBy('n', 'desc')
    .limit(1),
)

/** Where the feed ends. @returns null if there is no epoch */
export async function feedEnd(db: Db): Promise<FeedEnd | null> {
  const newest = (await selectNewest(db, { setting: EPOCH_SETTING }))[0]
  if (newest !== undefined) return newest
  const epoch = await readSetting(db, EPOCH_SETTING)
  return epoch === null ? null : startOf(db, epoch)
}

async function startOf(db: Db, epoch: string): Promise<FeedEnd> {
  return { epoch, n: 0, chain: chainStart((await storedBaseUrl(db)) ?? '', epoch) }
}

const insertChange = prepared<FeedChangeRow, object>((db, param) =>
  db.insertInto('feed_changes').values({
    epoch: param('epoch'),
    n: param('n'),
    list: param('list'),
    idx: param('idx'),
    value: param('value'),
    chain: param('chain'),
    day: param('day'),
  }),
)

const DAY_MS = 86_400_000

/**
 * Appends a change to the feed, in the transaction of the change. Begins an epoch if there is none: a command may be the first to
 * write after a restore.
 * @param at milliseconds since 1970
 */
export async function appendFeedChange(
  tx: Tx,
  change: Omit<FeedChange, 'n'>,
  at: number,
): Promise<FeedEnd> {
  const end = ends.get(tx.nextSeq) ?? (await feedEnd(tx.db)) ?? (await writeEpoch(tx))
  const line: ChainedChange = { ...change, n: end.n + 1 }
  const next = { epoch: end.epoch, n: line.n, chain: chainAfter(end.chain, line) }
  const { list, idx, status: value } = change
  await insertChange(tx.db, { ...next, list, idx, value, day: Math.floor(at / DAY_MS) })
  ends.set(tx.nextSeq, next)
  return next
}

type Range = { epoch: string; after: number; upTo: number; limit: number }

const selectBetween = prepared<Range, FeedChange>((db, param) =>
  db
    .selectFrom('feed_changes')
    .select(['n', 'list', 'idx', 'value as status'])
    .where('epoch', '=', param('epoch'))
    .where('n', '>', param('after'))
    .where('n', '<=', param('upTo'))
    .orderBy('n')
    .limit(param('limit')),
)

/** The changes with `after` < `n` <= `upTo`, in order. */
export function feedChangesBetween(db: Db, range: Range): Promise<FeedChange[]> {
  return selectBetween(db, range)
}

/** The rows of the current epoch after `n`, in order. */
export function feedRowsAfter(db: Db, n: number, limit: number): Promise<FeedChangeRow[]> {
  return db
    .selectFrom('feed_changes')
    .selectAll()
    .where('epoch', '=', (eb) =>
      eb.selectFrom('settings').select('settings.value').where('name', '=', EPOCH_SETTING),
    )
    .where('n', '>', n)
    .orderBy('n')
    .limit(limit)
    .execute()
}

/** The chain before the first change of an epoch. */
export async function startOfFeed(db: Db, epoch: string): Promise<Uint8Array> {
  return (await startOf(db, epoch)).chain
}

/** The chain after a change; null if its row is not kept. */
export async function chainAt(db: Db, epoch: string, n: number): Promise<Uint8Array | null> {
  const row = await db
    .selectFrom('feed_changes')
    .select('chain')
    .where('epoch', '=', epoch)
    .where('n', '=', n)
    .executeTakeFirst()
  return row?.chain ?? null
}

/** The number of the oldest change of an epoch that is kept; null if there is none. */
export async function oldestFeedChange(db: Db, epoch: string): Promise<number | null> {
  const row = await db
    .selectFrom('feed_changes')
    .select((eb) => eb.fn.min('n').as('n'))
    .where('epoch', '=', epoch)
    .executeTakeFirst()
  return row?.n ?? null
}

/** How long changes are kept, in days. */
const KEPT_DAYS = 30

/** Deletes what is older than 30 days, except the newest change, from which the next one continues. @param now milliseconds since 1970 */
export async function deleteOldFeedChanges(db: Database, now: number): Promise<void> {
  const before = Math.floor(now / DAY_MS) - KEPT_DAYS
  const end = await feedEnd(db.read)
  if (end === null || (await oldestDay(db.read, end)) >= before) return
  await db.write((tx) =>
    tx.db
      .deleteFrom('feed_changes')
      .where('epoch', '=', end.epoch)
      .where('n', '<', end.n)
      .where('day', '<', before)
      .execute(),
  )
}

async function oldestDay(db: Db, { epoch, n }: FeedEnd): Promise<number> {
  const row = await db
    .selectFrom('feed_changes')
    .select('day')
    .where('epoch', '=', epoch)
    .where('n', '<', n)
    .orderBy('n')
    .limit(1)
    .executeTakeFirst()
  return row?.day ?? Number.POSITIVE_INFINITY
}

/** @returns the current epoch. Begins one if there is none: at the first start, and after a restore */
export async function openEpoch(db: Database): Promise<string> {
  const known = await readSetting(db.eventReader, EPOCH_SETTING)
  if (known !== null) return known
  return db.write(async (tx) => {
    const epoch = await readSetting(tx.db, EPOCH_SETTING)
    return epoch ?? (await writeEpoch(tx)).epoch
  })
}

/**
 * Begins a new epoch, because events were lost. All nodes notice that, and the first begins it.
 * @param known the epochs that existed before the loss
 * @param at milliseconds since 1970
 */
export async function beginEpoch(tx: Tx, known: ReadonlySet<string>, at: number): Promise<void> {
  const current = await readSetting(tx.db, EPOCH_SETTING)
  if (current === null || known.has(current)) await replaceEpoch(tx, at)
}

/** Begins a new epoch, of which all nodes learn. @param at milliseconds since 1970 @returns the epoch */
export async function replaceEpoch(tx: Tx, at: number): Promise<string> {
  const { epoch } = await writeEpoch(tx)
  const seq = tx.nextSeq()
  const type = 'status.epoch_began'
  await appendEvent(tx, { seq, at, type, tail: null, ownerId: null, payload: { epoch } })
  return epoch
}

async function writeEpoch(tx: Tx): Promise<FeedEnd> {
  const epoch = randomBytes(16).toString('base64url')
  // Entries without a row become invalid, and none of these lists gets another entry.
  await tx.db.updateTable('status_lists').set({ is_closed: 1 }).execute()
  await tx.db.deleteFrom('feed_changes').execute()
  await writeSetting(tx, EPOCH_SETTING, epoch)
  const end = await startOf(tx.db, epoch)
  ends.set(tx.nextSeq, end)
  return end
}
