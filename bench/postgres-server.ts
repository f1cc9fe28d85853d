import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync } from 'node:fs'
import { totalmem, userInfo } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { HOST } from './http-exchange.ts'
import { freePort } from './process.ts'
import type { Scope } from './scope.ts'

/** A PostgreSQL server that the bench started. */
export interface PostgresServer {
  /** Without a database name at the end. */
  readonly url: string
  stop(): Promise<void>
}

type ServerSettings = Readonly<Record<string, string>>

const MIB = 2 ** 20
const memory = (share: number, max: number) =>
  `${Math.round(Math.min(totalmem() * share, max) / MIB)}MB`

/** Durable settings that use the machine's memory, as an operator would configure them. */
export const DURABLE: ServerSettings = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  shared_buffers: memory(0.25, 4096 * MIB),
  effective_cache_size: memory(0.5, Number.POSITIVE_INFINITY),
  max_wal_size: '4GB',
  checkpoint_timeout: '15min',
  random_page_cost: '1.1',
}

/** Fast, unsafe settings for a seed, which is created again after a crash. */
export const LOADING: ServerSettings = {
  fsync: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  autovacuum: 'off',
  shared_buffers: memory(0.1, 1024 * MIB),
  maintenance_work_mem: memory(0.1, 1024 * MIB),
  max_wal_size: '16GB',
}

/** Stops the server when its standard input is closed, by the bench or by the kernel after the bench has died. */
const GUARD = `"$@" &
cat >/dev/null
kill -INT $!
wait $!`

const START_DEADLINE_MS = 60_000

/**
 * Creates a directory that the server can write to.
 * @param prefix its path, to which a random suffix is added
 */
export function postgresDirectory(prefix: string): string {
  const dir = mkdtempSync(prefix)
  chmodSync(dir, 0o700)
  const { uid, gid } = unprivileged()
  if (uid !== undefined && gid !== undefined) chownSync(dir, uid, gid)
  return dir
}

/**
 * Creates an empty cluster in `dir/data`.
 * @throws Error if PostgreSQL is not installed
 */
export function initCluster(dir: string): void {
  const args = ['-D', join(dir, 'data'), '-U', 'postgres', '--auth=trust', '--no-sync']
  const options = { ...unprivileged(), env: { LC_ALL: 'C' }, encoding: 'utf8' } as const
  const { status, stderr } = spawnSync(
    postgresProgram('initdb'),
    [...args, '--locale=C', '--encoding=UTF8'],
    options,
  )
  if (status !== 0) throw new Error(`initdb failed:\n${stderr}`)
}

/**
 * Starts a server on the cluster in `dir/data`.
 * @param core the core to run on, or null for any
 */
export async function startPostgres(
  scope: Scope,
  dir: string,
  settings: ServerSettings,
  core: string | null = null,
): Promise<PostgresServer> {
  const port = await freePort()
  const own = { listen_addresses: HOST, port: String(port), unix_socket_directories: '' }
  const options = Object.entries({ ...own, ...settings }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ])
  const pinning = core === null ? [] : ['taskset', '-c', core]
  const command = [...pinning, postgresProgram('postgres'), '-D', join(dir, 'data'), ...options]
  // In a session of its own, so that Ctrl-C does not end the guard process before it has stopped the server.
  const guard = spawn('sh', ['-c', GUARD, 'guard', ...command], {
    stdio: ['pipe', 'ignore', 'pipe'],
    detached: true,
    env: { ...process.env, LC_ALL: 'C' },
    ...unprivileged(),
  })
  let log = ''
  guard.stderr.on('data', (chunk: Buffer) => {
    log = `${log}${chunk}`.slice(-5000)
  })
  const ended = new Promise<void>((resolve) => guard.once('exit', () => resolve()))
  const stop = scope.defer(() => {
    guard.stdin.end()
    return ended
  })
  const url = `postgres://postgres@${HOST}:${port}`
  await waitUntilUp(url, () => (guard.exitCode === null ? null : log))
  return { url, stop }
}

/**
 * Runs an SQL script in a connection of its own.
 * @returns the rows of the last statement
 */
export async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const results = await client.query(text)
    return (Array.isArray(results) ? results.at(-1) : results).rows
  } finally {
    await client.end()
  }
}

/** Debian installs them outside of PATH, in one directory per version. */
export function postgresProgram(name: string): string {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).toSorted().toReversed() : []
  const dirs = [
    ...versions.map((version) => join(debian, version, 'bin')),
    ...(process.env.PATH ?? '').split(delimiter),
  ]
  const found = dirs.map((dir) => join(dir, name)).find((file) => existsSync(file))
  if (found === undefined) throw new Error(`${name} is not installed (Debian: postgresql)`)
  return found
}

/** PostgreSQL refuses to run as root. Debian's package creates a user for it. */
export function unprivileged(): { readonly uid?: number; readonly gid?: number } {
  if (userInfo().uid !== 0) return {}
  const [uid, gid] = ['-u', '-g'].map((what) =>
    Number(spawnSync('id', [what, 'postgres'], { encoding: 'utf8' }).stdout),
  )
  if (!uid || !gid) throw new Error('PostgreSQL needs a user named postgres')
  return { uid, gid }
}

/** @param over the server's output, once it has exited */
async function waitUntilUp(url: string, over: () => string | null): Promise<void> {
  const deadline = performance.now() + START_DEADLINE_MS
  for (;;) {
    const error = await query(`${url}/postgres`, 'select 1').then(
      () => null,
      (reason: Error) => reason,
    )
    if (error === null) return
    if (over() !== null) throw new Error(`PostgreSQL ended:\n${over()}`)
    if (performance.now() > deadline) throw error
    await sleep(25)
  }
}
