import { type NoteKey, type ReadHashes, readHashesFromTiles } from '@countersign/protocol'
import { type ExpressionBuilder, type RawBuilder, SqliteAdapter, sql } from 'kysely'
import type { AgentRow, Db, Tables, Tx } from '../database/database.ts'
import { prepared } from '../database/prepared.ts'
import type { LogEntryRow, LogEpochRow, LogQueueRow } from '../database/schema/log-rows.ts'
import type { StoredTile } from './tree-edge.ts'

const selectCurrent = prepared<object, LogEpochRow>((db) =>
  db.selectFrom('log_epochs').selectAll().orderBy('epoch', 'desc').limit(1),
)

/** The current log. @returns undefined before the first start with a log */
export async function currentEpoch(db: Db): Promise<LogEpochRow | undefined> {
  return (await selectCurrent(db, {}))[0]
}

/** The key of a log. */
export function keyOfEpoch({
  origin,
  public_key: publicKey,
}: Pick<LogEpochRow, 'origin' | 'public_key'>): NoteKey {
  return { name: origin, type: 'ed25519', publicKey: Uint8Array.from(publicKey) }
}

/** All epochs, oldest first. */
export function allEpochs(db: Db): Promise<LogEpochRow[]> {
  return db.selectFrom('log_epochs').selectAll().orderBy('epoch').execute()
}

/** Inserts an epoch unless there is one with its number. */
export async function insertEpoch(tx: Tx, row: LogEpochRow): Promise<void> {
  await tx.db
    .insertInto('log_epochs')
    .values(row)
    .onConflict((conflict) => conflict.column('epoch').doNothing())
    .execute()
}

/** Changes columns of an epoch. */
export async function updateEpoch(
  tx: Tx,
  epoch: number,
  columns: Partial<Omit<LogEpochRow, 'epoch' | 'origin'>>,
): Promise<void> {
  await tx.db.updateTable('log_epochs').set(columns).where('epoch', '=', epoch).execute()
}

/** Stores a signed checkpoint, unless one of the same size or a larger one is stored. */
export async function insertCheckpoint(
  tx: Tx,
  published: Pick<LogEpochRow, 'epoch'> & {
    readonly size: number
    readonly root: Uint8Array
    readonly checkpoint: string
    readonly at: number
  },
): Promise<void> {
  const { epoch, size, root, checkpoint, at } = published
  await tx.db
    .updateTable('log_epochs')
    .set({ published_size: size, published_root: root, checkpoint, published_at: at })
    .where('epoch', '=', epoch)
    .where(({ or, eb }) => or([eb('published_size', '<', size), eb('checkpoint', 'is', null)]))
    .execute()
}

const selectImmediate = prepared<{ limit: number }, LogQueueRow>((db, param) =>
  db
    .selectFrom('log_queue')
    .selectAll()
    .where('not_before', '=', sql.lit(0))
    .orderBy('seq')
    .limit(param('limit')),
)

const selectLater = prepared<{ now: number; limit: number }, LogQueueRow>((db, param) =>
  db
    .selectFrom('log_queue')
    .selectAll()
    .where('not_before', '>', sql.lit(0))
    .where('not_before', '<=', param('now'))
    .orderBy('not_before')
    .orderBy('seq')
    .limit(param('limit')),
)

/** Changes that can get their place in the log, those that did not have to wait first, in the order of their events. */
export async function dueChanges(db: Db, now: number, limit: number): Promise<LogQueueRow[]> {
  const immediate = await selectImmediate(db, { limit })
  const left = limit - immediate.length
  return left === 0 ? immediate : [...immediate, ...(await selectLater(db, { now, limit: left }))]
}

/** Changes of agents that were not due at once, also those that are due by now. */
export function waitingChanges(db: Db, tails: readonly string[]): Promise<LogQueueRow[]> {
  if (tails.length === 0) return Promise.resolve([])
  return db
    .selectFrom('log_queue')
    .selectAll()
    .where('tail', 'in', tails)
    .where(sql.ref('type'), '<>', sql.lit('claimed'))
    .where('not_before', '>', 0)
    .execute()
}

/** Changes of agents that wait. */
export async function queuedOf(db: Db, tails: readonly string[]): Promise<LogQueueRow[]> {
  if (tails.length === 0) return []
  return db.selectFrom('log_queue').selectAll().where('tail', 'in', tails).execute()
}

/** Replaces what is known of the entry of a change that waits. */
export async function updateQueued({ db }: Tx, seq: number, entry: string): Promise<void> {
  await db.updateTable('log_queue').set({ entry }).where('seq', '=', seq).execute()
}

/** Holds a change back. */
export async function postponeChange({ db }: Tx, seq: number, notBefore: number): Promise<void> {
  await db.updateTable('log_queue').set({ not_before: notBefore }).where('seq', '=', seq).execute()
}

/** How many changes could have their place in the log. */
export async function countDue(db: Db, now: number): Promise<number> {
  const count = (eb: ExpressionBuilder<Tables, 'log_queue'>) =>
    eb.fn.countAll<number | string>().as('count')
  const rows = await Promise.all([
    db.selectFrom('log_queue').select(count).where('not_before', '=', 0).executeTakeFirst(),
    db
      .selectFrom('log_queue')
      .select(count)
      .where('not_before', '>', sql.lit(0))
      .where('not_before', '<=', now)
      .executeTakeFirst(),
  ])
  return rows.reduce((sum, row) => sum + Number(row?.count ?? 0), 0)
}

/** The text of the last entry about each of some agents in an epoch, of those that have one. */
export async function lastEntriesOf(
  db: Db,
  epoch: number,
  tails: readonly string[],
): Promise<{ readonly tail: string; readonly entry: string }[]> {
  if (tails.length === 0) return []
  const given = isSqlite(db)
    ? sql`(select value as tail from json_each(${JSON.stringify(tails)}))`
    : sql`unnest(${tails}::text[])`
  const { rows } = await sql<{ tail: string; entry: string | null }>`
    select given.tail, coalesce(
      (select entry from log_entries where tail = given.tail and claim is null and epoch = ${epoch}
        order by position desc limit 1),
      (select entry from log_entries where claim = (select seq from agents where tail = given.tail)
        and epoch = ${epoch})) as entry
    from ${given} as given ${isSqlite(db) ? sql`` : sql`(tail)`}`.execute(db)
  return rows.flatMap(({ tail, entry }) => (entry === null ? [] : [{ tail, entry }]))
}

const insertOne = prepared<LogEntryRow, object>((db, param) =>
  db.insertInto('log_entries').values({
    epoch: param('epoch'),
    position: param('position'),
    tail: param('tail'),
    claim: param('claim'),
    entry: param('entry'),
    salt: param('salt'),
    evidence: param('evidence'),
    opening_owner: param('opening_owner'),
  }),
)

function isSqlite(db: Db): boolean {
  return db.getExecutor().adapter instanceof SqliteAdapter
}

/** Inserts entries. */
export async function insertEntries({ db }: Tx, rows: readonly LogEntryRow[]): Promise<void> {
  if (rows.length === 0) return
  if (isSqlite(db)) {
    for (const row of rows) await insertOne(db, row)
    return
  }
  const column = <K extends keyof LogEntryRow>(name: K) => rows.map((row) => row[name])
  await sql`insert into log_entries
      (epoch, position, tail, claim, entry, salt, evidence, opening_owner)
    select * from unnest(${column('epoch')}::bigint[], ${column('position')}::bigint[],
      ${column('tail')}::text[], ${column('claim')}::bigint[], ${column('entry')}::text[],
      ${column('salt')}::bytea[], ${column('evidence')}::text[],
      ${column('opening_owner')}::bigint[])`.execute(db)
}

const deleteRun = prepared<{ first: number; last: number }, object>((db, param) =>
  db.deleteFrom('log_queue').where('seq', '>=', param('first')).where('seq', '<=', param('last')),
)

/** Deletes changes that have got their place. */
export async function deleteQueued({ db }: Tx, seqs: readonly number[]): Promise<void> {
  if (seqs.length === 0) return
  if (isSqlite(db)) for (const run of runsOf(seqs)) await deleteRun(db, run)
  else await sql`delete from log_queue where seq = any(${seqs}::bigint[])`.execute(db)
}

/** Numbers as ranges without a gap: those of claims follow each other, and a range takes one statement. */
function runsOf(seqs: readonly number[]): { readonly first: number; readonly last: number }[] {
  const runs: { first: number; last: number }[] = []
  for (const seq of seqs.toSorted((a, b) => a - b)) {
    const run = runs.at(-1)
    if (run !== undefined && seq <= run.last + 1) run.last = seq
    else runs.push({ first: seq, last: seq })
  }
  return runs
}

/** The stored tiles with these places. */
export async function tilesAt(
  db: Db,
  epoch: number,
  places: readonly { readonly level: number; readonly position: number }[],
): Promise<StoredTile[]> {
  const tiles: StoredTile[] = []
  for (const { level, position } of places) {
    const [tile] = await selectTile(db, { epoch, level, position })
    if (tile !== undefined) tiles.push({ level, position, hashes: tile.hashes })
  }
  return tiles
}

const selectTile = prepared<
  { epoch: number; level: number; position: number },
  { hashes: Uint8Array }
>((db, param) =>
  db
    .selectFrom('log_tiles')
    .select('hashes')
    .where('epoch', '=', param('epoch'))
    .where('level', '=', param('level'))
    .where('position', '=', param('position')),
)

/** Reads hashes of a tree of this size from the tiles in the database, which may be wider by now. */
export function readHashesFromDatabase(db: Db, epoch: number, size: number): ReadHashes {
  return readHashesFromTiles(size, async ({ level, index, width }) => {
    const [tile] = await tilesAt(db, epoch, [{ level: level as number, position: index }])
    return Uint8Array.from(tile?.hashes.subarray(0, width * 32) ?? [])
  })
}

/** Inserts tiles, or replaces them by wider ones. */
export async function upsertTiles(
  { db }: Tx,
  epoch: number,
  tiles: readonly StoredTile[],
): Promise<void> {
  for (const { level, position, hashes } of tiles) {
    await db
      .insertInto('log_tiles')
      .values({ epoch, level, position, hashes })
      .onConflict((conflict) =>
        conflict.columns(['epoch', 'level', 'position']).doUpdateSet({ hashes }),
      )
      .execute()
  }
}

/** Entries of an epoch from a position on, in order. */
export function entriesFrom(
  db: Db,
  epoch: number,
  position: number,
  count: number,
): Promise<LogEntryRow[]> {
  return db
    .selectFrom('log_entries')
    .selectAll()
    .where('epoch', '=', epoch)
    .where('position', '>=', position)
    .where('position', '<', position + count)
    .orderBy('position')
    .execute()
}

/** The entries about an agent in an epoch, in order, with indexes of at least `from` and below `to`. */
export async function entriesOf(
  db: Db,
  of: { readonly epoch: number; readonly tail: string; readonly from: number; readonly to: number },
  limit: number,
): Promise<LogEntryRow[]> {
  const entries = db
    .selectFrom('log_entries')
    .selectAll()
    // Not as `epoch = …`: SQLite would then read all entries of the log by its primary key.
    .where(sql<number>`epoch + 0`, '=', of.epoch)
    .where('position', '>=', of.from)
    .where('position', '<', of.to)
  // The claim comes first, so the two need not be merged.
  const claim = await entries.where('claim', '=', seqOf(of.tail)).execute()
  const others = await entries
    .where('tail', '=', of.tail)
    .where('claim', 'is', null)
    .orderBy('epoch')
    .orderBy('position')
    .limit(limit - claim.length)
    .execute()
  return [...claim, ...others]
}

/** The number of an agent's claim, as a subquery; null for an agent that a restored database has lost. */
function seqOf(tail: string): RawBuilder<number> {
  return sql`(select seq from agents where tail = ${tail})`
}

/** Agents claimed after an event that have neither an entry in an epoch nor one in the queue, in the order of their claims. */
export function unloggedAgents(
  db: Db,
  epoch: number,
  after: number,
  limit: number,
): Promise<AgentRow[]> {
  return db
    .selectFrom('agents')
    .selectAll()
    .where('seq', '>', after)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('log_queue')
            .select(sql.lit(1).as('one'))
            .whereRef('log_queue.seq', '=', 'agents.seq'),
        ),
      ),
    )
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('log_entries')
            .select(sql.lit(1).as('one'))
            .whereRef('log_entries.claim', '=', 'agents.seq')
            .where('log_entries.epoch', '=', epoch),
        ),
      ),
    )
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('log_entries')
            .select(sql.lit(1).as('one'))
            .whereRef('log_entries.tail', '=', 'agents.tail')
            .where('log_entries.claim', 'is', null)
            .where('log_entries.epoch', '=', epoch),
        ),
      ),
    )
    .orderBy('seq')
    .limit(limit)
    .execute()
}

/** The number of the last claim event; 0 if there is none. */
export async function lastClaim(db: Db): Promise<number> {
  const row = await db
    .selectFrom('agents')
    .select((eb) => eb.fn.max('seq').as('last'))
    .executeTakeFirst()
  return Number(row?.last ?? 0)
}
