import { createHash } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import type { Db, Tables } from '../database.ts'
import { EXPANSIONS_SETTING, isUnreleased, parseExpansions, unknownMigrations } from '../migrate.ts'
import { inOneTransaction, migratePostgres } from '../postgres/postgres-database.ts'
import { MIGRATIONS } from '../schema/migrations/index.ts'
import { integrityFault } from '../sqlite/sqlite-damage.ts'

/** Rows written and read back at a time. */
const PAGE_ROWS = 5000
/** For rows with a picture. A page is sent as one hexadecimal string, and JavaScript limits strings to 512 MiB. */
const PAGE_AVATARS = 50

/** SQLITE_BUSY (sqlite.org/rescode.html) */
const BUSY = 5
const BUSY_TIMEOUT_MS = 5000

type Row = Record<string, unknown>

/** The reason why an import was refused. Nothing was changed. */
export class ImportRefusal extends Error {
  override readonly name = 'ImportRefusal'
}

/** The identity pepper of the data directory. */
export interface PepperRecord {
  /** Its public name, which identity verifications refer to. */
  readonly id: string
  /** The setting by which all nodes compare their peppers. */
  readonly setting: { readonly name: string; readonly value: string }
}

export interface ImportedTable {
  readonly table: string
  readonly rows: number
  /** SHA-256 of all rows, hexadecimal. The same in the file and in the target. */
  readonly digest: string
}

/**
 * Copies everything from a SQLite file into an empty PostgreSQL database, in one transaction. Reads each table back and
 * compares it. The caller holds the process lock of the file.
 * @param pepper the pepper that the service will use with the target
 * @throws ImportRefusal
 * @throws Error if what was read back differs
 */
export async function importSqlite(
  file: string,
  url: string,
  pepper: PepperRecord,
  now: () => number,
): Promise<ImportedTable[]> {
  const source = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS })
  try {
    beginAlone(source)
    assertImportable(source)
    assertSamePepper(source, pepper)
    await migratePostgres(url, now)
    return await inOneTransaction(url, async (db) => {
      await assertEmpty(db)
      await assertSameSetting(db, pepper.setting)
      const tables: ImportedTable[] = []
      for (const table of Object.keys(TABLE_KEYS)) tables.push(await copy(source, db, table))
      await sql`analyze`.execute(db)
      return tables
    })
  } finally {
    source.close()
  }
}

/** Reads one snapshot and keeps others from writing: commands such as `owner add` do not take the process lock. */
function beginAlone(source: DatabaseSync): void {
  try {
    source.exec('BEGIN IMMEDIATE')
  } catch (error) {
    const isBusy = (error as { errcode?: number }).errcode === BUSY
    const refusal = isBusy
      ? 'Another process writes to the file. Stop it first.'
      : 'The file is not a database of this service.'
    throw new ImportRefusal(refusal, { cause: error })
  }
}

function assertImportable(source: DatabaseSync): void {
  const notOurs = 'The file is not a database of this service.'
  const recorded = attempt(() => recordedMigrations(source), notOurs)
  if (unknownMigrations(recorded).some(isUnreleased))
    throw new ImportRefusal('The file was made by a build before the first release.')
  const applied = [...recorded, ...attempt(() => recordedExpansions(source), notOurs)].toSorted()
  const expected = MIGRATIONS.map(({ name }) => name).toSorted()
  if (applied.join() !== expected.join()) {
    throw new ImportRefusal(
      'The file has the schema of another release. Run countersignd migrate on it first, by the release that imports it.',
    )
  }
  const fault = attempt(() => integrityFault(source), 'The file is damaged.')
  if (fault !== null) throw new ImportRefusal('The file is damaged.')
}

function recordedMigrations(source: DatabaseSync): string[] {
  const names = source.prepare('SELECT name FROM schema_migrations').all()
  return names.map(({ name }) => String(name))
}

function recordedExpansions(source: DatabaseSync): string[] {
  const row = source.prepare('SELECT value FROM settings WHERE name = ?').get(EXPANSIONS_SETTING)
  return parseExpansions(row?.value as string | undefined)
}

function attempt<T>(work: () => T, refusal: string): T {
  try {
    return work()
  } catch (error) {
    throw new ImportRefusal(refusal, { cause: error })
  }
}

/** With another pepper, subjects would hash differently: one human could verify two accounts. */
function assertSamePepper(source: DatabaseSync, { id, setting }: PepperRecord): void {
  const ids = source.prepare('SELECT DISTINCT pepper_id FROM identity_verifications').all()
  const stored = source.prepare('SELECT value FROM settings WHERE name = ?').get(setting.name)
  const isKnown = ids.length === 0 || ids.some((row) => row.pepper_id === id)
  if (isKnown && (stored === undefined || stored.value === setting.value)) return
  throw new ImportRefusal(
    'This node has another identity-pepper than the one of the data. Copy the right file to DATA_DIR first.',
  )
}

/** Compares the pepper with that of nodes already started on the target, then clears the settings for the imported ones. */
async function assertSameSetting(db: Db, { name, value }: PepperRecord['setting']): Promise<void> {
  const { rows } = await sql<Row>`select value from settings where name = ${name}`.execute(db)
  if (rows.some((row) => row.value !== value)) {
    throw new ImportRefusal(
      'A node was started on the target with another identity-pepper than the one of this node. Create a new target.',
    )
  }
  await sql`delete from settings`.execute(db)
}

async function assertEmpty(db: Db): Promise<void> {
  for (const table of Object.keys(TABLE_KEYS).filter((each) => each !== 'settings')) {
    const { rows } = await sql`select 1 from ${sql.table(table)} limit 1`.execute(db)
    if (rows.length > 0) throw new ImportRefusal(`The target is not empty: ${table} has rows.`)
  }
}

async function copy(source: DatabaseSync, db: Db, table: string): Promise<ImportedTable> {
  const sent = await send(source, db, table)
  const arrived = await readAgain(db, table)
  const digest = sent.end()
  if (sent.count !== arrived.count || digest !== arrived.end()) {
    throw new Error(`The rows of ${table} differ after the import. Nothing was imported.`)
  }
  return { table, rows: sent.count, digest }
}

async function send(source: DatabaseSync, db: Db, table: string): Promise<RowDigest> {
  const digest = new RowDigest()
  const types = await columnTypes(db, table)
  const limit = pageOf(table)
  let page: Row[] = []
  for (const row of source.prepare(`SELECT * FROM ${table} ORDER BY ${orderOf(table)}`).iterate()) {
    digest.add(row)
    page.push(row)
    if (page.length < limit) continue
    await insert(db, table, types, page)
    page = []
  }
  if (page.length > 0) await insert(db, table, types, page)
  return digest
}

/** Sends one array for each column, so that the statement is the same for any number of rows. */
async function insert(
  db: Db,
  table: string,
  types: ReadonlyMap<string, string>,
  rows: readonly Row[],
): Promise<void> {
  const names = [...types.keys()]
  const arrays = names.map((name) => {
    const values = rows.map((row) => row[name])
    return sql`${values}::${sql.raw(`${types.get(name)}[]`)}`
  })
  await sql`insert into ${sql.table(table)} (${sql.join(names.map((name) => sql.ref(name)))})
    select * from unnest(${sql.join(arrays)})`.execute(db)
}

async function columnTypes(db: Db, table: string): Promise<Map<string, string>> {
  const { rows } = await sql<{ name: string; type: string }>`
    select attname as name, format_type(atttypid, null) as type from pg_attribute
    where attrelid = ${table}::regclass and attnum > 0 and not attisdropped
    order by attnum`.execute(db)
  return new Map(rows.map(({ name, type }) => [name, type]))
}

async function readAgain(db: Db, table: string): Promise<RowDigest> {
  const digest = new RowDigest()
  const select = `select * from ${table} order by ${orderOf(table)}`
  const limit = pageOf(table)
  await sql.raw(`declare imported no scroll cursor for ${select}`).execute(db)
  for (;;) {
    const { rows } = await sql.raw<Row>(`fetch ${limit} from imported`).execute(db)
    for (const row of rows) digest.add(row)
    if (rows.length < limit) break
  }
  await sql.raw('close imported').execute(db)
  return digest
}

function pageOf(table: string): number {
  return table === 'avatars' ? PAGE_AVATARS : PAGE_ROWS
}

function orderOf(table: string): string {
  return TABLE_KEYS[table as keyof typeof TABLE_KEYS].join(', ')
}

/** Rate limits start fresh, since they last minutes; running nodes report on a rotation again, and ask again about the log. */
type NotImported = 'rate_counts' | 'issuer_key_reports' | 'log_joins'

/**
 * Every table with the columns that order its rows. Referenced tables come before those that refer to them.
 * Does not compile if a table is missing.
 */
export const TABLE_KEYS = {
  owners: ['id'],
  identity_verifications: ['owner_id', 'provider'],
  claim_tokens: ['hash'],
  agents: ['seq'],
  agent_keys: ['tail', 'sequence'],
  suspended_keys: ['public_key'],
  key_recoveries: ['tail'],
  status_lists: ['list'],
  status_entries: ['list', 'idx'],
  delegations: ['id'],
  feed_changes: ['epoch', 'n'],
  channels: ['id'],
  channel_checks: ['channel_id', 'at'],
  channel_leases: ['channel_id'],
  events: ['seq'],
  jobs: ['id'],
  passkeys: ['credential_id'],
  recovery_codes: ['hash'],
  sign_in_identities: ['provider', 'subject_hash'],
  sign_in_links: ['hash'],
  sessions: ['hash'],
  api_keys: ['hash'],
  flows: ['hash'],
  settings: ['name'],
  avatars: ['tail'],
  released_usernames: ['hash'],
  notifications: ['id'],
  email_addresses: ['id'],
  email_preferences: ['owner_id', 'kind'],
  account_activity: ['id'],
  email_outbox: ['id'],
  webhook_endpoints: ['id'],
  webhook_deliveries: ['id'],
  issuer_keys: ['id'],
  mandates: ['id'],
  approvals: ['id'],
  grant_issuers: ['id'],
  grant_assignments: ['tail'],
  grant_uses: ['tail', 'audience'],
  used_nonces: ['hash'],
  log_queue: ['seq'],
  log_epochs: ['epoch'],
  log_entries: ['epoch', 'position'],
  log_tiles: ['epoch', 'level', 'position'],
  log_quotas: ['owner_id'],
  log_pending: ['epoch'],
  log_witnesses: ['epoch', 'witness'],
  witness_keys: ['number'],
  witnessed_logs: ['origin'],
  memberships: ['id'],
  invitations: ['id'],
  organisation_settings: ['org_id'],
  organisation_domains: ['org_id'],
  sso_connections: ['id'],
  scim_tokens: ['hash'],
  scim_users: ['id'],
  transfers: ['id'],
  transfer_agents: ['transfer_id', 'tail'],
  member_actions: ['id'],
  enrolment_rules: ['id'],
  enrolments: ['tail'],
  enrolment_tokens: ['hash'],
  reports: ['id'],
  report_evidence: ['report_id', 'position'],
} as const satisfies {
  [T in Exclude<keyof Tables, NotImported>]: readonly (keyof Tables[T])[]
}

/** Counts and hashes rows (SHA-256), with the same result for both databases: columns in order of name, values by type. */
class RowDigest {
  readonly #hash = createHash('sha256')
  #count = 0

  add(row: Readonly<Record<string, unknown>>): void {
    for (const name of Object.keys(row).toSorted())
      this.#hash.update(`${name}=${textOf(row[name])};`)
    this.#hash.update('\n')
    this.#count += 1
  }

  get count(): number {
    return this.#count
  }

  end(): string {
    return this.#hash.digest('hex')
  }
}

/** Length-prefixed, so that different rows never have the same encoding. */
function textOf(value: unknown): string {
  if (value === null) return 'null'
  if (typeof value === 'number') return `n${value}`
  if (typeof value === 'string') return `t${Buffer.byteLength(value)}:${value}`
  if (value instanceof Uint8Array) return `b${Buffer.from(value).toString('hex')}`
  throw new Error('a value of an unexpected type')
}
