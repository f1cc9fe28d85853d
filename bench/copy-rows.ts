import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { migratePostgres } from '../packages/server/src/database/postgres/postgres-database.ts'
import { postgresProgram, query } from './postgres-server.ts'

/** The tables that a seed fills, ordered so that referenced tables come first. */
const SEEDED = [
  ...['owners', 'identity_verifications', 'claim_tokens'],
  ...['agents', 'events', 'settings'],
] as const
const ROWS_PER_BATCH = 10_000

/** Copies all rows of a seeded file into a new database, and creates the indexes afterwards, which is faster. */
export async function fillDatabase(url: string, file: string): Promise<void> {
  await migratePostgres(url, Date.now)
  const later = await dropIndexes(url)
  for (const table of SEEDED) await copyTable(url, file, table, { after: 0, isEmpty: true })
  await query(url, later.join(';\n'))
  for (const table of SEEDED) await query(url, `vacuum (freeze, analyze) ${table}`)
}

/** Copies the rows that a grown copy of a file has in addition. */
export async function addRows(url: string, file: string, grownFrom: string): Promise<void> {
  for (const table of SEEDED) {
    await copyTable(url, file, table, { after: lastRow(grownFrom, table), isEmpty: false })
  }
  await query(url, 'analyze')
}

/** @returns the statements that recreate all indexes and constraints */
async function dropIndexes(url: string): Promise<string[]> {
  const constraints = await query(
    url,
    `select conrelid::regclass as "table", conname as name, pg_get_constraintdef(oid) as definition
     from pg_constraint where connamespace = 'public'::regnamespace and contype in ('p', 'u', 'f')
     order by contype = 'f'`,
  )
  const names = new Set(constraints.map(({ name }) => name))
  const all = await query(
    url,
    `select indexname as name, indexdef as definition from pg_indexes where schemaname = 'public'`,
  )
  const indexes = all.filter(({ name }) => !names.has(name))
  // Foreign keys must be dropped before the keys that they reference.
  const drops = [
    ...constraints
      .toReversed()
      .map(({ table, name }) => `alter table ${table} drop constraint ${name}`),
    ...indexes.map(({ name }) => `drop index ${name}`),
  ]
  await query(url, drops.join(';\n'))
  const keys = constraints.map(
    ({ table, name, definition }) => `alter table ${table} add constraint ${name} ${definition}`,
  )
  return [...keys, ...indexes.map(({ definition }) => String(definition))]
}

interface Rows {
  readonly after: number
  /** With wal_level minimal, a table that is truncated in the same transaction needs no log. */
  readonly isEmpty: boolean
}

async function copyTable(url: string, file: string, table: string, rows: Rows): Promise<void> {
  const source = new DatabaseSync(file, { readOnly: true })
  const columns = source.prepare(`PRAGMA table_info(${table})`).all() as unknown as Column[]
  const names = columns.map(({ name }) => name).join(', ')
  const copy = `copy ${table} (${names}) from stdin`
  const commands = rows.isEmpty ? [`truncate ${table}`, copy] : [copy]
  const args = ['-X', '-q', '-1', '-v', 'ON_ERROR_STOP=1', '-d', url]
  const psql = spawn(postgresProgram('psql'), [...args, ...commands.flatMap((c) => ['-c', c])], {
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  let complaint = ''
  psql.stderr.on('data', (chunk: Buffer) => {
    complaint += chunk
  })
  // The child process reports the reason itself.
  psql.stdin.on('error', () => undefined)
  const ended = once(psql, 'close')
  const page = source.prepare(
    `SELECT group_concat(${columns.map(asText).join(` || char(9) || `)}, char(10)) AS text
     FROM ${table} WHERE rowid > ? AND rowid <= ?`,
  )
  const last = lastRow(file, table)
  for (let from = rows.after; from < last && psql.exitCode === null; from += ROWS_PER_BATCH) {
    const text = page.get(from, from + ROWS_PER_BATCH)?.text
    if (typeof text !== 'string') continue
    if (!psql.stdin.write(`${text}\n`)) await Promise.race([once(psql.stdin, 'drain'), ended])
  }
  psql.stdin.end()
  const [code] = await ended
  source.close()
  if (code !== 0) throw new Error(`${table} could not be copied:\n${complaint}`)
}

interface Column {
  readonly name: string
  readonly type: string
}

/** The text format of COPY. The seed contains no tabs, newlines or backslashes that would need escaping. */
function asText({ name, type }: Column): string {
  const text = type.toLowerCase() === 'blob' ? `'\\\\x' || hex(${name})` : name
  return `coalesce(${text}, '\\N')`
}

function lastRow(file: string, table: string): number {
  const db = new DatabaseSync(file, { readOnly: true })
  const last = db.prepare(`SELECT max(rowid) AS last FROM ${table}`).get()?.last
  db.close()
  return Number(last ?? 0)
}
