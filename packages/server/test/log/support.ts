import { randomBytes } from 'node:crypto'
import type { Settings } from '../../src/base/config.ts'
import type { Database } from '../../src/database/database.ts'
import { TransparencyLog } from '../../src/log/transparency-log.ts'
import type { LogWitnesses } from '../../src/log/witnesses/log-witnesses.ts'
import { openServiceKey, type ServiceKey } from '../../src/secrets/service-keys.ts'

const NEVER = new AbortController().signal

/** The log of a node with this data, without the service around it. */
export interface LogNode {
  readonly log: TransparencyLog
  run(): Promise<void>
}

interface NodeOptions {
  /** Of the node, if it is not that of the key. */
  readonly dataDir?: string
  readonly key?: ServiceKey
  readonly witnesses?: LogWitnesses
  readonly now?: () => number
}

export async function openNode(
  settings: Settings,
  db: Pick<Database, 'read' | 'write'>,
  { witnesses, now = Date.now, ...options }: NodeOptions = {},
): Promise<LogNode> {
  const { naming, baseUrl, dataDir } = settings
  const key =
    options.key ?? (await openServiceKey({ db: db as Database, folders: settings }, 'log'))
  const log = new TransparencyLog({
    db,
    key,
    naming,
    host: baseUrl.host,
    now,
    randomBytes,
    witnesses: witnesses ?? null,
    dataDir: options.dataDir ?? dataDir,
  })
  return {
    log,
    async run() {
      await log.run(NEVER)
      if (witnesses === undefined) return
      await witnesses.run(log, NEVER)
      await log.run(NEVER)
    },
  }
}

const TABLES = [
  'log_witnesses',
  'log_pending',
  'log_quotas',
  'log_tiles',
  'log_entries',
  'log_epochs',
  'log_queue',
] as const
type Rows = ReadonlyMap<(typeof TABLES)[number], readonly object[]>

/** What the database has of the log, as a backup would have it. */
export async function saveLog({ read }: Pick<Database, 'read'>): Promise<Rows> {
  const rows = new Map<(typeof TABLES)[number], object[]>()
  for (const table of TABLES) rows.set(table, await read.selectFrom(table).selectAll().execute())
  return rows
}

/** Puts the log back as it was saved. */
export async function restoreLog(db: Pick<Database, 'write'>, saved: Rows): Promise<void> {
  await db.write(async (tx) => {
    for (const table of TABLES) await tx.db.deleteFrom(table).execute()
    for (const table of TABLES.toReversed()) {
      for (const row of saved.get(table) ?? []) {
        await tx.db
          .insertInto(table)
          .values(row as never)
          .execute()
      }
    }
  })
}
