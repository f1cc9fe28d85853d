import type { Naming } from '@countersign/protocol'
import { readSettings, type Settings } from '../config/config.ts'
import { loadPepper, type Pepper } from '../core/crypto/secrets.ts'
import type { Database } from '../core/database/database.ts'
import { openDatabase } from '../core/database/open-database.ts'

/** What a command works on: the settings and data of the server, which may be running. */
export interface OperatorContext {
  readonly settings: Settings
  readonly db: Database
  readonly naming: Naming
  readonly pepper: Pepper
  readonly now: () => number
}

/** Opens the data, does the work, closes. Another process that writes meanwhile is waited for. */
export async function withData<T>(work: (context: OperatorContext) => Promise<T>): Promise<T> {
  const settings = readSettings(process.env)
  const db = await openDatabase(settings.database, Date.now)
  try {
    const { naming, dataDir } = settings
    return await work({ settings, db, naming, pepper: loadPepper(dataDir), now: Date.now })
  } finally {
    await db.close()
  }
}
