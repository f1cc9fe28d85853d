import { spawnSync } from 'node:child_process'
import { existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fillDatabase } from './copy-rows.ts'
import {
  DURABLE,
  initCluster,
  LOADING,
  type PostgresServer,
  postgresDirectory,
  query,
  startPostgres,
  unprivileged,
} from './postgres-server.ts'
import type { Scope } from './scope.ts'
import { fingerprintOf, type Seed } from './seed.ts'

/** The name of the database in a cluster with a seed's rows. */
export const SEED_DATABASE = 'seed'

const SOURCES = ['copy-rows.ts', 'seed-postgres.ts'].map((file) => join(import.meta.dirname, file))

/** A cluster with the rows of a seed. Runs start copies of it. */
export interface PostgresSeed {
  readonly dir: string
  /** Seconds that it took, or null if it already existed. */
  readonly seconds: number | null
}

/** Copies a seed into PostgreSQL, unless an earlier run has done so. */
export async function preparePostgresSeed(
  scope: Scope,
  seed: Seed,
  { fresh }: { readonly fresh: boolean },
): Promise<PostgresSeed> {
  const dir = `${seed.dir}-postgres-${fingerprintOf(SOURCES)}`
  if (!fresh && seed.seconds === null && existsSync(dir)) return { dir, seconds: null }
  rmSync(dir, { recursive: true, force: true })
  const draft = postgresDirectory(`${dir}-draft-`)
  const discard = scope.defer(() => rmSync(draft, { recursive: true, force: true }))
  const started = performance.now()
  initCluster(draft)
  const server = await startPostgres(scope, draft, LOADING)
  await query(`${server.url}/postgres`, `create database ${SEED_DATABASE}`)
  await fillDatabase(`${server.url}/${SEED_DATABASE}`, seed.database)
  await server.stop()
  const seconds = (performance.now() - started) / 1000
  renameSync(draft, dir)
  await discard()
  return { dir, seconds }
}

/** Starts a durable server on a copy of a seeded cluster, which is deleted at the end. */
export async function startOnCopy(
  scope: Scope,
  { dir }: PostgresSeed,
  core: string | null,
): Promise<PostgresServer> {
  const copy = postgresDirectory(join(dir, '..', 'countersign-bench-run-postgres-'))
  scope.defer(() => rmSync(copy, { recursive: true, force: true }))
  const { status, stderr } = spawnSync(
    'cp',
    ['-a', '--reflink=auto', join(dir, 'data'), join(copy, 'data')],
    { ...unprivileged(), encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(`the seeded cluster could not be copied:\n${stderr}`)
  return startPostgres(scope, copy, DURABLE, core)
}
