import {
  appendFileSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import type { PostgresPrograms } from './postgres-programs.ts'

/** Where a server keeps its data: in `data` below `dir`. */
export interface PostgresPlace extends PostgresPrograms {
  readonly dir: string
}

/** What a copy must not have, or gets anew, by PostgreSQL's manual on backups of a running server. */
const LEFT_OUT = /^(postmaster\.(pid|opts)|pgsql_tmp.*|pg_internal\.init)$/
const EMPTIED = new Set([
  'pg_dynshmem',
  'pg_notify',
  'pg_replslot',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
  'pg_wal',
])

/** Copies a running server's data as a standby of it: pg_basebackup is not in every package of PostgreSQL. */
export async function copyServer(url: string, { dir, as }: PostgresPlace): Promise<void> {
  const client = new pg.Client({ connectionString: `${url}/postgres` })
  await client.connect()
  try {
    const [{ from }] = (
      await client.query(`select setting as "from" from pg_settings where name = 'data_directory'`)
    ).rows

    await client.query('select pg_backup_start($1, true)', ['standby'])
    const to = join(dir, 'data')
    copyDirectory(from, to, as, '')
    const [{ labelfile }] = (await client.query('select labelfile from pg_backup_stop(false)')).rows
    const { hostname, port, username } = new URL(url)
    const primary = `host=${hostname} port=${port} user=${username} application_name=standby`
    appendFileSync(join(to, 'postgresql.auto.conf'), `\nprimary_conninfo = '${primary}'\n`)
    for (const [name, text] of [
      ['backup_label', labelfile],
      ['standby.signal', ''],
    ] as const) {
      writeFileSync(join(to, name), text)
      give(join(to, name), as)
    }
  } finally {
    await client.end()
  }
}

function copyDirectory(from: string, to: string, as: PostgresPrograms['as'], inside: string): void {
  mkdirSync(to, { mode: 0o700 })
  give(to, as)
  if (EMPTIED.has(inside)) return
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const { name } = entry
    if (LEFT_OUT.test(name)) continue
    if (entry.isDirectory()) {
      copyDirectory(join(from, name), join(to, name), as, join(inside, name))
      continue
    }
    try {
      copyFileSync(join(from, name), join(to, name))
    } catch (error) {
      // A file that is removed meanwhile is not missed: the log says that it was.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      continue
    }
    give(join(to, name), as)
  }
}

function give(path: string, as: PostgresPrograms['as']): void {
  if (as.uid !== undefined) chownSync(path, as.uid, as.gid)
}
