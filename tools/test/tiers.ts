import { globSync } from 'node:fs'
import { matchesGlob } from 'node:path'

/**
 * Which test files run in which tier: `npm test` runs the tier `quick`, without `*.slow.test.ts`, `npm run test:all` the
 * tier `all`, and `npm run test:nightly` what is in neither, `*.nightly.test.ts`. `*.isolated.*` gets its own process.
 */

export type Tier = 'quick' | 'all' | 'nightly'
export type Database = 'sqlite' | 'postgres'

export interface TestFile {
  /** From the root of the repository. */
  readonly path: string
  readonly database: Database
  /** Whether it needs a process of its own. */
  readonly isIsolated: boolean
}

const EVERY_FILE = ['packages/*/test/**/*.test.ts', 'test/**/*.test.ts', 'tools/**/*.test.ts']

/** What depends on the database runs on PostgreSQL too in `npm test`; in `npm run test:all` the whole server does. */
export const ON_POSTGRES = [
  'packages/server/test/nodes/**',
  'packages/server/test/database/**',
  'packages/server/test/agents/read-model/**',
  'packages/server/test/agents/claims/{claim-and-lookup,claim-tokens,issue-token,mint,token-batches}.test.ts',
  'packages/server/test/agents/claims/races/claims.test.ts',
  'packages/server/test/agents/keys/races.test.ts',
  'packages/server/test/webhooks/queue.test.ts',
  'packages/server/test/log/anchor.test.ts',
]

const SERVER = ['packages/server/test/**']

/** @returns the test files of a tier; some come twice, once for each database */
export function filesOf(tier: Tier): TestFile[] {
  const paths = globSync(EVERY_FILE).toSorted()
  const chosen = paths.filter((path) => isOfTier(path, tier))
  const candidates = tier === 'quick' ? ON_POSTGRES : tier === 'all' ? SERVER : []
  const onPostgres = chosen.filter((path) => matches(path, candidates))
  return [
    ...chosen.map((path) => testFile(path, 'sqlite')),
    ...onPostgres.map((path) => testFile(path, 'postgres')),
  ]
}

/** Slow are those of more than a few seconds, and those in need of programs that npm does not bring. */
function isOfTier(path: string, tier: Tier): boolean {
  if (tier === 'nightly' || path.includes('.nightly.'))
    return tier === 'nightly' && path.includes('.nightly.')
  return tier === 'all' || !path.includes('.slow.')
}

function testFile(path: string, database: Database): TestFile {
  return { path, database, isIsolated: path.includes('.isolated.') }
}

function matches(path: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => matchesGlob(path, pattern))
}
