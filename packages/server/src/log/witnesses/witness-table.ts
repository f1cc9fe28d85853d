import type { Db, Tx } from '../../database/database.ts'
import type { LogEpochRow, LogPendingRow, LogWitnessRow } from '../../database/schema/log-rows.ts'
import { currentEpoch } from '../log-table.ts'

/** A checkpoint that the log has signed. */
export interface SignedCheckpoint {
  readonly epoch: number
  readonly size: number
  readonly root: Uint8Array
  /** The signed note. */
  readonly checkpoint: string
  /** When it was signed, in milliseconds since the Unix epoch. */
  readonly at: number
}

/** The current epoch, and the newest checkpoint that was signed in it, whether it is published or waits for cosignatures. */
export interface NewestSigned {
  readonly row: LogEpochRow
  /** Null: none was. */
  readonly signed: SignedCheckpoint | null
  readonly isPending: boolean
}

/** @returns null if there is no log yet */
export async function newestSigned(db: Db): Promise<NewestSigned | null> {
  const row = await currentEpoch(db)
  if (row === undefined) return null
  const { epoch, published_size: size, published_root: root, published_at: at, checkpoint } = row
  const pending = await pendingOf(db, epoch)
  // A log that was recovered may have published a larger one.
  if (pending !== undefined && (checkpoint === null || pending.size > size)) {
    const { signed_at, ...signed } = pending
    return { row, signed: { ...signed, at: signed_at }, isPending: true }
  }
  const isSigned = checkpoint !== null && root !== null
  const signed = isSigned ? { epoch, size, root, checkpoint, at: at ?? 0 } : null
  return { row, signed, isPending: false }
}

function pendingOf(db: Db, epoch: number): Promise<LogPendingRow | undefined> {
  return db.selectFrom('log_pending').selectAll().where('epoch', '=', epoch).executeTakeFirst()
}

/** Stores a signed checkpoint that waits for cosignatures, unless one does already. */
export async function insertPending(tx: Tx, signed: SignedCheckpoint): Promise<void> {
  const newest = await newestSigned(tx.db)
  const isOld = newest?.signed != null && newest.signed.size >= signed.size
  if (newest === null || newest.isPending || isOld) return
  const { epoch, size, root, checkpoint, at: signed_at } = signed
  const columns = { size, root, checkpoint, signed_at }
  await tx.db
    .insertInto('log_pending')
    .values({ epoch, ...columns })
    .onConflict((conflict) => conflict.column('epoch').doUpdateSet(columns))
    .execute()
}

/** Publishes a checkpoint with its cosignatures, unless a larger one is published. */
export async function publishWitnessed({ db }: Tx, signed: SignedCheckpoint): Promise<void> {
  const { epoch, size, root, checkpoint, at } = signed
  await db
    .updateTable('log_epochs')
    .set({ published_size: size, published_root: root, checkpoint, published_at: at })
    .where('epoch', '=', epoch)
    .where('published_size', '<=', size)
    .execute()
  await db.deleteFrom('log_pending').where('epoch', '=', epoch).where('size', '<=', size).execute()
}

/** What these witnesses have answered about an epoch. @param witnesses their verifier keys */
export function witnessRows(
  db: Db,
  epoch: number,
  witnesses: readonly string[],
): Promise<LogWitnessRow[]> {
  return db
    .selectFrom('log_witnesses')
    .selectAll()
    .where('epoch', '=', epoch)
    .where('witness', 'in', witnesses)
    .execute()
}

/** Adds witnesses of which nothing is known. */
export async function insertWitnesses(
  { db }: Tx,
  epoch: number,
  witnesses: readonly string[],
): Promise<void> {
  const unknown = { size: 0, cosignature: null, answered_at: 0, not_before: 0 }
  const sound = { failures: 0, failure: null, problem: null }
  await db
    .insertInto('log_witnesses')
    .values(witnesses.map((witness) => ({ epoch, witness, ...unknown, ...sound })))
    .onConflict((conflict) => conflict.columns(['epoch', 'witness']).doNothing())
    .execute()
}

/**
 * Takes a witness for this process, so that no other one asks it until then.
 * @returns null if another process has it, or it is not to be asked yet
 */
export async function takeWitness(
  { db }: Tx,
  { epoch, witness }: Pick<LogWitnessRow, 'epoch' | 'witness'>,
  { now, until }: { readonly now: number; readonly until: number },
): Promise<LogWitnessRow | null> {
  const row = await db
    .updateTable('log_witnesses')
    .set({ not_before: until })
    .where('epoch', '=', epoch)
    .where('witness', '=', witness)
    .where('not_before', '<=', now)
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

/** Stores what a witness has answered and gives it back, unless another process has taken it meanwhile. */
export async function releaseWitness(
  { db }: Tx,
  { epoch, witness, not_before: taken }: Pick<LogWitnessRow, 'epoch' | 'witness' | 'not_before'>,
  columns: Partial<Omit<LogWitnessRow, 'epoch' | 'witness'>>,
): Promise<void> {
  await db
    .updateTable('log_witnesses')
    .set(columns)
    .where('epoch', '=', epoch)
    .where('witness', '=', witness)
    .where('not_before', '=', taken)
    .execute()
}
