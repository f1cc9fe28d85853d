import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { migratePostgres } from '../../packages/server/src/database/postgres/postgres-database.ts'
import { freePort } from './ports.ts'
import { copyServer, type PostgresPlace } from './postgres-copy.ts'
import { postgresPrograms } from './postgres-programs.ts'
import { run } from './run.ts'

/** Whether tests keep their data in PostgreSQL. */
export const ON_POSTGRES = process.env.TEST_DATABASE === 'postgres'

/** The advisory lock that every writer takes. */
export const WRITER_LOCK = 0x6373676e

/** For tests that are about SQLite's file. */
export const SQLITE_ONLY = { skip: ON_POSTGRES && 'it is about the file of SQLite' }
/** For tests that are about PostgreSQL; they start their own where the run has none. */
export const POSTGRES_ONLY = { skip: !ON_POSTGRES && 'it is about PostgreSQL' }

/** A PostgreSQL server of the tests, which ends with the process that started it, however that ends. */
export interface PostgresServer {
  /** Without a database at its end. */
  readonly url: string
  readonly pid: number
  stop(): Promise<void>
}

/** Already migrated: a copy of it costs less than migrating another. */
const TEMPLATE = 'countersign_template'

/** Texts sort by a language's rules here, unlike in SQLite: code that relies on their order must set a collation. */
const LOCALE = ['--locale=C', '--locale-provider=icu', '--icu-locale=en-US', '--encoding=UTF8']

/** Nothing here outlives the run, so that no disk has to be waited for. */
const FAST = ['-c', 'fsync=off', '-c', 'full_page_writes=off']
/** Of a server that is killed nothing stays in /dev/shm. */
const TIDY = ['-c', 'dynamic_shared_memory_type=mmap']

/**
 * Its standard input is a pipe from here: when that closes for any reason, the server ends and its files are deleted. One
 * that was killed has left its file, whose seventh line ends with the number of a piece of shared memory.
 */
const GUARD = `"$1" -D "$2/data" -h 127.0.0.1 -p "$3" -k "$2" -c max_connections=300 ${[...FAST, ...TIDY].join(' ')} >"$2/log" 2>&1 &
cat >/dev/null
kill -INT $!
wait $!
shared=$(sed -n '7s/.* //p' "$2/data/postmaster.pid" 2>/dev/null)
test -z "$shared" || ipcrm -m "$shared"
rm -rf "$2"`

/** @throws Error where PostgreSQL does not run here */
export async function startPostgres(): Promise<PostgresServer> {
  const place = await newPlace()
  await made('initdb', place, ['-U', 'postgres', '--auth=trust', '--no-sync', ...LOCALE])
  const server = await serve(place)
  await query(`${server.url}/postgres`, `create database ${TEMPLATE}`)
  await migratePostgres(`${server.url}/${TEMPLATE}`, Date.now)
  return server
}

/**
 * A standby of another server, which follows it under the name of `standby`.
 * @param port where it listens, if that matters
 */
export async function startStandby(
  of: Pick<PostgresServer, 'url'>,
  port?: number,
): Promise<PostgresServer> {
  const place = await newPlace()
  await copyServer(of.url, place)
  return serve(place, port)
}

async function newPlace(): Promise<PostgresPlace> {
  const programs = await postgresPrograms()
  const dir = mkdtempSync(join(tmpdir(), 'countersign-postgres-'))
  chmodSync(dir, 0o700)
  const { as } = programs
  if (as.uid !== undefined) chownSync(dir, as.uid, as.gid)
  return { ...programs, dir }
}

async function made(
  program: string,
  { bin, dir, as }: PostgresPlace,
  args: string[],
): Promise<void> {
  const command = [join(bin, program), ['-D', join(dir, 'data'), ...args]] as const
  const { code, stderr } = await run(...command, { LC_ALL: 'C' }, '', as)
  if (code !== 0) throw new Error(`${program} failed:\n${stderr}`)
}

async function serve({ bin, dir, as }: PostgresPlace, wanted?: number): Promise<PostgresServer> {
  const port = wanted ?? (await freePort())
  const args = ['-c', GUARD, 'guard', join(bin, 'postgres'), dir, String(port)]
  // A session of its own, so that Ctrl-C does not reach the guard before it has ended the server.
  const guard = spawn('sh', args, { stdio: ['pipe', 'ignore', 'ignore'], detached: true, ...as })
  const ended = new Promise<void>((resolve) => guard.once('exit', () => resolve()))
  guard.unref()
  const stdin = guard.stdin as unknown as { unref(): void } & NodeJS.WritableStream
  stdin.unref()
  const url = `postgres://postgres@127.0.0.1:${port}`
  await untilUp(url)
  return {
    url,
    // The first line of its file is the number of the process that all the others end with.
    pid: Number(readFileSync(join(dir, 'data/postmaster.pid'), 'utf8').split('\n')[0]),
    async stop() {
      guard.ref()
      stdin.end()
      await ended
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

async function untilUp(url: string): Promise<void> {
  for (let tries = 0; tries < 2400; tries++) {
    const error = await query(`${url}/postgres`, 'select 1').then(
      () => null,
      (reason: Error) => reason,
    )
    if (error === null) return
    await sleep(25)
    if (tries === 2399) throw error
  }
}

/** Executes statements in a connection of their own. */
export async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

let server: Promise<PostgresServer> | null = null
const databases = new Map<string, Promise<string>>()

/** The server of this run: the one that was started for all files, else one for this file. */
async function serverUrl(): Promise<string> {
  if (process.env.TEST_POSTGRES) return process.env.TEST_POSTGRES
  server ??= startPostgres()
  return (await server).url
}

/** The database that goes with a data directory: empty at first, the same one for each caller with the directory. */
export function databaseOf(dataDir: string): Promise<string> {
  let url = databases.get(dataDir)
  if (url === undefined) {
    url = createDatabase(`t${createHash('sha256').update(dataDir).digest('hex').slice(0, 20)}`)
    databases.set(dataDir, url)
  }
  return url
}

async function createDatabase(name: string): Promise<string> {
  const url = await serverUrl()
  // Copying the files takes half of the time of writing each page to the log.
  await query(`${url}/postgres`, `create database ${name} template ${TEMPLATE} strategy file_copy`)
  return `${url}/${name}`
}

if (ON_POSTGRES) {
  after(async () => {
    const urls = await Promise.all(databases.values())
    if (server !== null) return (await server).stop()
    for (const url of urls) {
      const name = url.slice(url.lastIndexOf('/') + 1)
      await query(`${await serverUrl()}/postgres`, `drop database ${name} with (force)`)
    }
  })
}
