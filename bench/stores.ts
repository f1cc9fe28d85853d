import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { DatabaseLocation } from '../packages/server/src/database/open-database.ts'
import { addRows, fillDatabase } from './copy-rows.ts'
import { type PostgresServer, query } from './postgres-server.ts'
import type { OtherData } from './seed.ts'
import { SEED_DATABASE } from './seed-postgres.ts'

/** The key that identities are hashed with. All nodes must use the same one, or they refuse to start. */
const PEPPER = 'identity-pepper'

/** The data that a service is started with. */
export interface Data {
  /** A data directory with a database file that is never written to. Each service gets a copy. */
  readonly database: string
  /** The seed's file if this one is a copy of it with added rows. */
  readonly grownFrom?: string
  /** The same data for the service of another checkout, with the schema of that one; null without one. */
  readonly before: OtherData | null
}

/** Makes a copy for one service, or for several nodes that share it. */
export interface DataCopy {
  readonly place: DatabaseLocation
  readonly agents: number
  /** The environment variables that point countersignd to it. */
  readonly settings: Readonly<Record<string, string>>
  discard(): Promise<void>
}

/** The database that countersign uses. */
export interface Store {
  readonly kind: DatabaseLocation['kind']
  /** Its name and settings, for the report. */
  readonly about: string
  copy(data: Data): Promise<DataCopy>
}

/**
 * A data directory with everything of a seed's except the database.
 * @param parent a directory of this run
 */
function dataDirectory(parent: string, { database, grownFrom = database }: Data): string {
  const own = mkdtempSync(join(parent, 'data-'))
  copyFileSync(join(dirname(grownFrom), PEPPER), join(own, PEPPER))
  return own
}

function agentsIn(file: string): number {
  using database = new DatabaseSync(file, { readOnly: true })
  return Number(database.prepare('select count(*) as count from agents').get()?.count)
}

/** @param dir a directory of this run */
export function sqliteStore(dir: string): Store {
  return {
    kind: 'sqlite',
    about: 'SQLite, synchronous = FULL',
    async copy(data) {
      const own = dataDirectory(dir, data)
      const file = join(own, 'countersign.db')
      copyFileSync(data.database, file)
      return {
        place: { kind: 'sqlite', file },
        agents: agentsIn(file),
        settings: { DATA_DIR: own },
        discard: async () => rmSync(own, { recursive: true, force: true }),
      }
    },
  }
}

const ABOUT = `select 'PostgreSQL ' || current_setting('server_version') as version,
  string_agg(name || ' = ' || current_setting(name), ', ' order by name) as settings
  from pg_settings where name in ('fsync', 'synchronous_commit', 'full_page_writes', 'shared_buffers')`

/**
 * @param dir a directory of this run
 * @param server one that has the seed's database
 * @param seeded the file that the seed's database was created from
 */
export async function postgresStore(
  dir: string,
  server: PostgresServer,
  seeded: string,
): Promise<Store> {
  const admin = `${server.url}/postgres`
  const [about] = await query(admin, ABOUT)
  let copies = 0
  return {
    kind: 'postgres',
    about: `${about?.version}, ${about?.settings}`,
    async copy(data) {
      const { database, grownFrom } = data
      copies += 1
      const name = `copy_${copies}`
      const url = `${server.url}/${name}`
      const ofSeed = database === seeded || grownFrom === seeded
      const template = ofSeed ? `template ${SEED_DATABASE} strategy file_copy` : ''
      await query(admin, `create database ${name} ${template}`)
      if (!ofSeed) await fillDatabase(url, database)
      else if (database !== seeded) await addRows(url, database, seeded)
      const own = dataDirectory(dir, data)
      return {
        place: { kind: 'postgres', url },
        agents: agentsIn(database),
        settings: { DATA_DIR: own, DATABASE_URL: url },
        async discard() {
          rmSync(own, { recursive: true, force: true })
          await query(admin, `drop database ${name} with (force)`)
        },
      }
    },
  }
}
