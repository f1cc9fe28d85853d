import type { Naming } from '@countersign/protocol'
import { type Env, readSettings, type Settings } from '../../base/config.ts'
import type { Database } from '../../database/database.ts'
import { openDatabase } from '../../database/open-database.ts'
import { loadPepper, type Pepper } from '../../secrets/secrets.ts'
import { EFFECTS } from '../effects.ts'

/** The server's settings and data, which commands use also while the server runs. */
export interface CommandContext {
  readonly settings: Settings
  readonly db: Database
  readonly naming: Naming
  readonly pepper: Pepper
  readonly now: () => number
}

/** Opens the data for a command and closes it afterwards. Waits for other processes that are writing. */
export async function withData<T>(
  env: Env,
  work: (context: CommandContext) => Promise<T>,
): Promise<T> {
  const settings = readSettings(env)
  const db = await openDatabase(settings.database, Date.now, EFFECTS)
  try {
    const { naming } = settings
    return await work({ settings, db, naming, pepper: loadPepper(settings), now: Date.now })
  } finally {
    await db.close()
  }
}
