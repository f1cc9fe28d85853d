import { existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { CodedError, encodeBase64, type Naming } from '@countersign/protocol'
import type { Database } from '../database/database.ts'
import type { LogEpochRow } from '../database/schema/log-rows.ts'
import type { SecretFolders } from '../secrets/secrets.ts'
import { acceptServiceKey, openServiceKey, serviceKeyName } from '../secrets/service-keys.ts'
import { LogAnchor } from './anchor.ts'
import { currentEpoch, insertEpoch } from './log-table.ts'
import { verifierKeyOf } from './read-log.ts'
import { appendEntries } from './sequence.ts'
import { newEpoch } from './transparency-log.ts'

export interface NewEpochDeps {
  readonly db: Database
  readonly folders: SecretFolders
  readonly naming: Naming
  /** Host of the base URL, with its port. */
  readonly host: string
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number
  readonly randomBytes: (count: number) => Uint8Array
}

/**
 * Begins a new log with a key of its own, if the current one cannot be recovered. Its first entry names the old log and its newest
 * known state, and the old log stays served as the database has it. The old key stays in DATA_DIR under its number.
 * @returns the origin and the key of the new log
 * @throws CodedError VALIDATION_ERROR if there is no log yet, or its key is in KEYS_DIR
 */
export async function beginEpoch(
  deps: NewEpochDeps,
): Promise<{ readonly origin: string; readonly verifierKey: string }> {
  const { db, folders, host, now } = deps
  const { keysDir, dataDir } = folders
  const anchor = new LogAnchor(dataDir)
  const old = await currentEpoch(db.read)
  if (old === undefined) {
    throw new CodedError('VALIDATION_ERROR', 'There is no log yet. Start the service once.')
  }
  if (keysDir !== dataDir && existsSync(join(keysDir, serviceKeyName('log')))) {
    throw new CodedError(
      'VALIDATION_ERROR',
      'log-key is in KEYS_DIR, where this command does not write. Take it out of there and try again. Then put the new log-key there.',
    )
  }
  const known = anchor.read()
  const previous = previousOf(old, known)
  const file = join(dataDir, serviceKeyName('log'))
  const kept = `${file}-${old.epoch}`
  // A run that was killed, or one before a restore, has kept a key under this number already.
  if (existsSync(file)) renameSync(file, existsSync(kept) ? `${kept}-${now()}` : kept)
  await acceptServiceKey({ db, folders }, 'log')
  const key = await openServiceKey({ db, folders }, 'log')
  const epoch = old.epoch + 1
  const at = now()
  const begun = await db.write(async (tx) => {
    const row = newEpoch({ epoch, host, key, at })
    await insertEpoch(tx, row)
    const members = { type: 'epoch', previous, at }
    await appendEntries(deps, tx, row, [{ tail: null, claim: null, members, evidence: null }])
    return (await currentEpoch(tx.db)) as LogEpochRow
  })
  anchor.compareAndSwap(known, begun)
  return { origin: begun.origin, verifierKey: verifierKeyOf(begun) }
}

/** The newest state of the old log that was signed: the anchor knows more than a database that was restored. */
function previousOf(
  { origin, published_size, published_root, root }: LogEpochRow,
  known: ReturnType<LogAnchor['read']>,
): { readonly origin: string; readonly size: number; readonly root: string } {
  if (known?.origin === origin && known.size >= published_size) {
    return { origin, size: known.size, root: encodeBase64(known.root) }
  }
  return { origin, size: published_size, root: encodeBase64(published_root ?? root) }
}
