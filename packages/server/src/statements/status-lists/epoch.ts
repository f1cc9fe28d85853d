import { randomBytes } from 'node:crypto'
import { closeLists } from '../../agents/changes/status-entry-table.ts'
import type { Database, Tx } from '../../database/database.ts'
import { appendEvent } from '../../database/event-table.ts'
import { EPOCH_SETTING, readSetting, writeSetting } from '../../database/settings-table.ts'

/**
 * An epoch is a time in which no event was lost. When a restore or a failover has lost events, a new one begins: certificates may
 * refer to entries that the database does not know, and could no longer be revoked. So all lists are closed.
 */

/** @returns the current epoch. Begins one if there is none: at the first start, and after a restore */
export async function openEpoch(db: Database): Promise<string> {
  const known = await readSetting(db.eventReader, EPOCH_SETTING)
  if (known !== null) return known
  return db.write(async (tx) => {
    const epoch = await readSetting(tx.db, EPOCH_SETTING)
    return epoch ?? (await writeEpoch(tx))
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
  const epoch = await writeEpoch(tx)
  const seq = tx.nextSeq()
  const type = 'status.epoch_began'
  await appendEvent(tx, { seq, at, type, tail: null, ownerId: null, payload: { epoch } })
  return epoch
}

async function writeEpoch(tx: Tx): Promise<string> {
  const epoch = randomBytes(16).toString('base64url')
  await closeLists(tx)
  await writeSetting(tx, EPOCH_SETTING, epoch)
  return epoch
}
