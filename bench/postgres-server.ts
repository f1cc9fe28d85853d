import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync } from 'node:fs'
import { totalmem, userInfo } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { HOST } from './exchange.ts'
import { freePort } from './process.ts'
import type { Scope } from './scope.ts'

/** A PostgreSQL server that the bench started. */
export interface PostgresServer {
  /** Without a database at its end. */
  readonly url: string
  stop(): Promise<void>
}

type ServerSettings = Readonly<Record<string, string>>

const MIB = 2 ** 20
const memory = (share: number, most: number) =>
  `${Math.round(Math.min(totalmem() * share, most) / MIB)}MB`

/** As a careful operator has it: what is acknowledged is on the disk, and the memory of the machine is made use of. */
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

/** For a seed, which is made anew if anything comes between. */
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

/** Ends the server when its standard input closes, whoever closes it: the bench, or the kernel in its place. */
const GUARD = `"$@" &
cat >/dev/null
kill -INT $!
wait $!`

const START_DEADLINE_MS = 60_000

/** Makes a directory that the server may write to. @param prefix its path, to be followed by a random end */
export function postgresDirectory(prefix: string): string {
  const dir = mkdtempSync(prefix)
  chmodSync(dir, 0o700)
  const { uid, gid } = unprivileged()
  if (uid !== undefined && gid !== undefined) chownSync(dir, uid, gid)
  return dir
}

/** Makes an empty cluster in `dir/data`. @throws Error where there is no PostgreSQL */
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

/** Starts a server on the cluster in `dir/data`. @param core the one that it may run on, or null for any */
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
  // A session of its own, so that Ctrl-C does not reach the guard before it has ended the server.
  const guard = spawn('sh', ['-c', GUARD, 'guard', ...command], {
    ...{ stdio: ['pipe', 'ignore', 'pipe'], detached: true, env: { ...process.env, LC_ALL: 'C' } },
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
  await untilUp(url, () => (guard.exitCode === null ? null : log))
  return { url, stop }
}

/** Executes a script of statements in a connection of its own. @returns the rows of the last one */
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

/** Debian keeps them out of the PATH, a directory for each version. */
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

/** PostgreSQL does not run as root: Debian's package brings a user for it. */
export function unprivileged(): { readonly uid?: number; readonly gid?: number } {
  if (userInfo().uid !== 0) return {}
  const [uid, gid] = ['-u', '-g'].map((what) =>
    Number(spawnSync('id', [what, 'postgres'], { encoding: 'utf8' }).stdout),
  )
  if (!uid || !gid) throw new Error('PostgreSQL needs a user named postgres')
  return { uid, gid }
}

/** @param over what the server said, once it has ended */
async function untilUp(url: string, over: () => string | null): Promise<void> {
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
