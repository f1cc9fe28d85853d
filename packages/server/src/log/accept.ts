import { type Checkpoint, CodedError, emptyTreeRoot } from '@countersign/protocol'
import type { Database } from '../database/database.ts'
import type { LogEpochRow } from '../database/schema/log-rows.ts'
import { LogAnchor } from './anchor.ts'
import { assertContains, LogHaltedError } from './halted.ts'
import { currentEpoch } from './log-table.ts'

/** What an operator says about the log of a machine that has no anchor. */
export type AcceptedHead =
  /** The newest state that they know, from a mirror, a monitor or a witness. */
  | Pick<Checkpoint, 'size' | 'root'>
  /** Nobody knows one: whatever the database has. With the origin, so that nobody accepts another database by mistake. */
  | { readonly forkOf: string }

/**
 * Gives a machine without an anchor the newest state of the log that the operator knows. The database must contain it, and also
 * the anchor, if there is one. Repeating it changes nothing.
 * @returns the anchor
 * @throws CodedError VALIDATION_ERROR
 */
export async function acceptHead(
  { db, dataDir }: { readonly db: Pick<Database, 'read'>; readonly dataDir: string },
  accepted: AcceptedHead,
): Promise<Checkpoint> {
  const row = await currentEpoch(db.read)
  if (row === undefined) throw refusal('The database has no log. Start the service once.')
  const head = headOf(row, accepted)
  const anchors = new LogAnchor(dataDir)
  const anchor = anchors.read()
  for (const state of [anchor, head]) {
    await assertContains(db.read, state, row).catch((error: unknown) => {
      throw error instanceof LogHaltedError ? refusal(error.message) : error
    })
  }
  if (anchor?.origin === row.origin && anchor.size >= head.size) return anchor
  if (anchors.compareAndSwap(anchor, head)) return head
  throw refusal('log-head has changed meanwhile. Try again.')
}

function headOf(row: LogEpochRow, accepted: AcceptedHead): Checkpoint {
  const { origin, published_size, published_root } = row
  if (!('forkOf' in accepted)) return { origin, ...accepted }
  if (accepted.forkOf !== origin) throw refusal(`The log of the database is ${origin}.`)
  return { origin, size: published_size, root: published_root ?? emptyTreeRoot() }
}

function refusal(message: string): CodedError {
  return new CodedError('VALIDATION_ERROR', message)
}
