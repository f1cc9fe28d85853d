import { globSync } from 'node:fs'
import { matchesGlob } from 'node:path'

/**
 * The names of test files say when they run: `*.slow.test.ts` not in `npm test` (`quick`), only in `npm run test:all`
 * (`all`); `*.nightly.test.ts` in neither, only in `npm run test:nightly`. `*.isolated.*` gets a process of its own.
 */
export const TIERS = ['quick', 'all', 'nightly'] as const
export type Tier = (typeof TIERS)[number]
export type Database = 'sqlite' | 'postgres'

/** Test files that run in one process, one after another. Paths are from the root of the repository. */
export interface Job {
  readonly database: Database
  readonly paths: readonly string[]
}

const EVERY_FILE = ['packages/*/test/**/*.test.ts', 'test/**/*.test.ts', 'tools/**/*.test.ts']

/** Of `packages/server/test/`: what depends most on the database runs on PostgreSQL as well, in each tier. */
const ON_POSTGRES = [
  'agents/{claims,read-model}/**',
  'accounts/organisations/last-admin.*',
  '{database,nodes}/**',
  'log/anchor.*',
  'webhooks/queue.*',
]

/** And these in `test:all`: rooms that store something, without their texts, pages and protocols of others. */
const ON_POSTGRES_IN_ALL = [
  ...ON_POSTGRES,
  'accounts/{identity,notifications,organisations,owners}/**',
  'agents/{enrolment,keys,manage,reports,responsible,transfers}/**',
  'agents/{change-agent,changes,grade,agents-of-key,lookup,regrade*,replaced-key,statuses}.*',
  'channels/{account-data,channel-*,concurrent-changes,freshness,leases,runtime,takeover}.*',
  'http/{limits/rate-limit/**,limits/overload/pressure.*,metrics/**}',
  'log/**',
  'pages/dashboard/**',
  'service/{cli/**,cluster/serving.*,privacy/**}',
  'statements/**',
  'webhooks/**',
]

/** Input is checked before the database is asked. */
const INPUT_CHECKS = '**/*-input.*'

/** Each process takes about a second to load the service, and grows with the services that it has run. PostgreSQL is slower. */
const FILES_PER_JOB = { postgres: 10, sqlite: 30 } as const

/**
 * The processes that take longest come first, so that none of them is left alone at the end.
 * @returns the test files of a tier, in each process in the order of their names; some come twice, once for each database
 */
export function planJobs(tier: Tier, isWanted: (path: string) => boolean = () => true): Job[] {
  const paths = globSync(EVERY_FILE).filter((path) => isOfTier(path, tier) && isWanted(path))
  const onPostgres = paths.filter((path) => runsOnPostgres(path, tier))
  return [...deal('sqlite', paths), ...deal('postgres', onPostgres)]
}

function isOfTier(path: string, tier: Tier): boolean {
  const isNightly = path.includes('.nightly.')
  if (tier === 'nightly' || isNightly) return tier === 'nightly' && isNightly
  return tier === 'all' || !path.includes('.slow.')
}

function runsOnPostgres(path: string, tier: Tier): boolean {
  const SERVER = 'packages/server/test/'
  if (tier === 'nightly' || !path.startsWith(SERVER)) return false
  const name = path.slice(SERVER.length)
  const patterns = tier === 'all' ? ON_POSTGRES_IN_ALL : ON_POSTGRES
  return patterns.some((each) => matchesGlob(name, each)) && !matchesGlob(name, INPUT_CHECKS)
}

/** Round-robin: files of one folder take about as long, so the processes do too. */
function deal(database: Database, paths: readonly string[]): Job[] {
  const isolated = paths.filter(isIsolated)
  const shared = paths.filter((path) => !isIsolated(path)).toSorted()
  const count = Math.ceil(shared.length / FILES_PER_JOB[database])
  const dealt = Array.from({ length: count }, (_, job) =>
    shared.filter((_, i) => i % count === job),
  )
  return [...isolated.map((path) => [path]), ...dealt].map((paths) => ({ database, paths }))
}

function isIsolated(path: string): boolean {
  return path.includes('.isolated.')
}
