import { globSync } from 'node:fs'
import { matchesGlob } from 'node:path'

/** Which test files run in which tier: `npm test` runs the tier `quick`, `npm run test:all` the tier `all`. */

export type Tier = 'quick' | 'all'
export type Database = 'sqlite' | 'postgres'

export interface TestFile {
  /** From the root of the repository. */
  readonly path: string
  readonly database: Database
  /** Whether it needs a process of its own. */
  readonly isIsolated: boolean
}

const EVERY_FILE = ['packages/*/test/**/*.test.ts', 'test/**/*.test.ts', 'tools/**/*.test.ts']

/** Too slow for `npm test`, or in need of programs that npm does not bring. */
export const ALL_ONLY = [
  'packages/*/test/published.test.ts',
  'packages/cli/test/commands/{grant,registry}.test.ts',
  'packages/cli/test/mcp/{secrecy,stdio}.test.ts',
  'packages/{gateway,sdk}/test/readme.test.ts',
  'packages/gateway/test/forward-auth/{command,docs,nonces,path-fuzz,proxies}.test.ts',
  'packages/protocol/test/runs-anywhere.test.ts',
  'packages/sdk/test/in-browser.test.ts',
  'packages/server/test/statements/certificates/{logged-key,plain-certificate,python-verifiers}.test.ts',
  'packages/server/test/service/cli/book-postgres.test.ts',
  'packages/server/test/service/cluster/{issuer-keys,one-service,serving,status-feed,stopping,worker-failures}.test.ts',
  'packages/server/test/database/{postgres-slow,durability/*}.test.ts',
  'packages/server/test/http/limits/overload/*.test.ts',
  'packages/server/test/http/limits/rate-limit/{bounds,parallel,shared}.test.ts',
  'packages/server/test/agents/keys/{kill,property-full,races-workers}.test.ts',
  'packages/server/test/log/{tree-edge,entries,erasure,kill,recover,rolled-back-machine,two-primaries,verify-with-go,witness-answers,witnesses,mutual-witnesses}.test.ts',
  'packages/server/test/log/cosigning/*.test.ts',
  'packages/server/test/nodes/{failover,former-primary,lost-status,partition,stale-certificates,synchronous-standby,two-nodes-issuer-keys}.test.ts',
  'packages/server/test/agents/manage/avatar.test.ts',
  'packages/server/test/accounts/identity/logs.test.ts',
  'packages/server/test/pages/{browser,certificate-log,console-browser,nothing-moves,pictures,preview-thread,signed-certificate}.test.ts',
  'packages/server/test/pages/docs/docs-browser.test.ts',
  'packages/server/test/accounts/providers/{core-identity,login-page}.test.ts',
  'packages/server/test/agents/{card-formats,regrade-properties}.test.ts',
  'packages/server/test/channels/{a2a-countersign,bluesky,countersign-page,mastodon,matrix,telegram}.test.ts',
  'packages/server/test/service/cli/provider.test.ts',
  'packages/server/test/http/limits/default-limits.test.ts',
  'packages/server/test/accounts/identity/provider-webhook.test.ts',
  'packages/server/test/accounts/owners/passkey-input.test.ts',
  'packages/server/test/pages/development-only.test.ts',
  'packages/server/test/service/{full-log,logs,stop}.test.ts',
  'packages/cli/test/commands/log.test.ts',
  'packages/gateway/test/{agent-cache,directories,logged-keys,logged-keys-outage,offline-attacks,service-unreachable}.test.ts',
  'packages/sdk/test/{grant,key-proof,other-names,registry,http/patience,relying-party/{agent-sign-in,challenges}}.test.ts',
  'packages/server/test/agents/manage/{list,profile}.test.ts',
  'packages/server/test/agents/{caching,grade,regrade,read-model/load}.test.ts',
  'packages/server/test/channels/{domain,freshness,leases,runtime,runtime-challenge}.test.ts',
  'packages/server/test/agents/claims/{claim-input,races/pairs}.test.ts',
  'packages/server/test/service/cluster/merge-metrics.test.ts',
  'packages/server/test/http/{json-body,metrics/metrics}.test.ts',
  'packages/server/test/pages/dashboard/stream.test.ts',
  'packages/server/test/accounts/identity/{flow,oidc}.test.ts',
  'packages/server/test/nodes/{replica,same-pepper}.test.ts',
  'packages/server/test/accounts/owners/account.test.ts',
  'packages/server/test/pages/{check,console,docs/docs,docs/docs-api}.test.ts',
  'packages/server/test/service/{start,stopped-service}.test.ts',
  'packages/server/test/statements/status-lists/{feed,repair}.test.ts',
  'packages/server/test/webhooks/receiver-faults.test.ts',
  'packages/server/test/statements/grants/{authorization-servers,grants,oauth-flow}.test.ts',
  'packages/server/test/agents/client-metadata.test.ts',
  'packages/server/test/agents/verification/{key-selection,verify-input,verify-keys}.test.ts',
  'test/bench.test.ts',
  'test/examples.test.ts',
  'test/python.test.ts',
  'test/channels-page.test.ts',
  'test/deploy-*.test.ts',
  'test/{packages,quickstart,readme,renewed-certificates,session-recipes}.test.ts',
  'test/e2e/{another-site,api-keys,bulk-changes,channel-journey,channel-pages,dashboard-pages,grant-issuers,keys-tab,newcomer-way,notifications,sign-in-methods,webhooks}.test.ts',
  'test/conformance/*.test.ts',
  'test/docs-{certificates,commands,hosting,signed-requests,webhooks}.test.ts',
  'test/world-id-in-browser.test.ts',
]

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
/** Long looks at pages that have nothing from the database. */
const SQLITE_ONLY = ['packages/server/test/pages/docs/docs-browser.test.ts']

/** These change what all tests of a process share, such as global functions. */
export const ISOLATED = [
  'packages/sdk/test/http/patience.test.ts',
  'packages/sdk/test/relying-party/key-directories.test.ts',
]

/** @returns the test files of a tier; some come twice, once for each database */
export function filesOf(tier: Tier): TestFile[] {
  const paths = globSync(EVERY_FILE).toSorted()
  const chosen = tier === 'all' ? paths : paths.filter((path) => !matches(path, ALL_ONLY))
  const candidates = tier === 'all' ? SERVER : ON_POSTGRES
  const onPostgres = chosen.filter(
    (path) => matches(path, candidates) && !matches(path, SQLITE_ONLY),
  )
  return [
    ...chosen.map((path) => testFile(path, 'sqlite')),
    ...onPostgres.map((path) => testFile(path, 'postgres')),
  ]
}

function testFile(path: string, database: Database): TestFile {
  return { path, database, isIsolated: matches(path, ISOLATED) }
}

function matches(path: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => matchesGlob(path, pattern))
}
