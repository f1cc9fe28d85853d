import { type Checkpoint, equalHashes, type LogHaltCode, treeRoot } from '@countersign/protocol'
import type { Db } from '../database/database.ts'
import type { LogEpochRow } from '../database/schema/log-rows.ts'
import { currentEpoch, readHashesFromDatabase } from './log-table.ts'

/** Why the log is neither signed nor served. The message names the ways out, for the operator. */
export class LogHaltedError extends Error {
  override readonly name = 'LogHaltedError'
  readonly code: LogHaltCode

  constructor(code: LogHaltCode, message: string) {
    super(message)
    this.code = code
  }
}

/**
 * Checks that this machine knows a state of a log that has signed one. A database that was restored into a new DATA_DIR would
 * otherwise sign a second history.
 * @throws LogHaltedError `no-anchor`
 */
export function assertAnchored(
  { origin, checkpoint }: Pick<LogEpochRow, 'origin' | 'checkpoint'>,
  anchor: Checkpoint | null,
): void {
  // A log that begins has no checkpoint. Where another log was signed, it may have begun before: the database was restored.
  if (anchor === null ? checkpoint === null : anchor.origin === origin) return
  const problem =
    anchor === null
      ? `DATA_DIR has no log-head for ${origin}`
      : `log-head in DATA_DIR is of the log ${anchor.origin}, and the database has ${origin}`
  throw new LogHaltedError(
    'no-anchor',
    `${problem}, so this machine cannot tell whether the database has lost entries. If another node is running, this one joins it within a minute. If not: copy log-head (and log-key) from another node, or run countersignd log recover --from <mirror>, countersignd log accept or, if nobody knows the log, countersignd log new-epoch`,
  )
}

/**
 * Checks that the log in the database contains a state that was signed or served.
 * @param known of the same log
 * @throws LogHaltedError `behind`, `other-entries`
 */
export async function assertContains(
  db: Db,
  known: Checkpoint | null,
  { epoch, origin, size, root }: Pick<LogEpochRow, 'epoch' | 'origin' | 'size' | 'root'>,
): Promise<void> {
  if (known === null || known.origin !== origin) return
  if (known.size > size) {
    throw new LogHaltedError(
      'behind',
      `The database has ${size} entries of the log, but ${known.size} were signed or served: it was restored, or has lost commits. Run: countersignd log recover --from <mirror>, or begin a new log: countersignd log new-epoch`,
    )
  }
  const found = known.size === size ? root : await rootAt(db, epoch, known.size, size)
  if (found !== null && equalHashes(found, known.root)) return
  throw new LogHaltedError(
    'other-entries',
    `The first ${known.size} entries of the log in the database are not those that were signed or served: it was changed, or is another one. Restore a backup from before that and run countersignd log recover --from <mirror>, or begin a new log: countersignd log new-epoch`,
  )
}

/** Why this machine would neither sign nor serve the log of a database; null: it would, or there is no log. */
export async function haltOf(db: Db, anchor: Checkpoint | null): Promise<LogHaltedError | null> {
  const row = await currentEpoch(db)
  if (row === undefined) return null
  try {
    assertAnchored(row, anchor)
    await assertContains(db, anchor, row)
    return null
  } catch (error) {
    if (error instanceof LogHaltedError) return error
    throw error
  }
}

/** The root of the first entries, by the tiles in the database. @returns null if tiles are missing */
async function rootAt(
  db: Db,
  epoch: number,
  old: number,
  size: number,
): Promise<Uint8Array | null> {
  try {
    return await treeRoot(old, readHashesFromDatabase(db, epoch, size))
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}
