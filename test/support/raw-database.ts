import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import type { Settings } from '../../packages/server/src/base/config.ts'

type Row = Record<string, unknown>

/** Direct access to a service's database, over a separate connection and without the service's code. */
export interface RawDatabase {
  tables(): Promise<string[]>
  all(statement: string): Promise<Row[]>
  exec(statements: string): Promise<void>
  close(): Promise<void>
}

export async function openRaw({ database }: Pick<Settings, 'database'>): Promise<RawDatabase> {
  return database.kind === 'sqlite' ? rawSqlite(database.file) : rawPostgres(database.url)
}

/** Opens a service's database directly for some work, and closes it afterwards. */
export async function withRaw<T>(
  settings: Pick<Settings, 'database'>,
  work: (raw: RawDatabase) => Promise<T>,
): Promise<T> {
  const raw = await openRaw(settings)
  try {
    return await work(raw)
  } finally {
    await raw.close()
  }
}

/** All table contents as text, with bytes as Latin-1. */
export function textOfTables(settings: Pick<Settings, 'database'>): Promise<string> {
  return withRaw(settings, async (raw) => {
    const tables = await raw.tables()
    const rows = await Promise.all(tables.map((name) => raw.all(`SELECT * FROM "${name}"`)))
    return rows
      .flat()
      .flatMap((row) => Object.values(row))
      .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value))
      .join('\n')
  })
}

/** The database file of a service on SQLite. */
export function fileOf({ database }: Pick<Settings, 'database'>): string {
  if (database.kind === 'sqlite') return database.file
  throw new Error('the data are not in a file')
}

function rawSqlite(file: string): RawDatabase {
  const db = new DatabaseSync(file, { timeout: 5000 })
  const all = async (statement: string) => db.prepare(statement).all() as Row[]
  return {
    all,
    tables: async () =>
      (await all("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")).map(
        ({ name }) => name as string,
      ),
    exec: async (statements) => db.exec(statements),
    close: async () => db.close(),
  }
}

function rawPostgres(url: string): RawDatabase {
  // One connection, so that concurrent queries run one after another.
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  pool.on('error', () => undefined)
  const all = async (statement: string) => (await pool.query(statement)).rows as Row[]
  return {
    all,
    tables: async () =>
      (
        await all("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename")
      ).map(({ tablename }) => tablename as string),
    exec: async (statements) => void (await pool.query(statements)),
    close: () => pool.end(),
  }
}
