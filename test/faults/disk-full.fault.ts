import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { readSettings } from '../../packages/server/src/base/config.ts'
import { prepareClaims } from '../support/many-claims.ts'
import { startPostgres } from '../support/postgres.ts'
import {
  type ClaimBody,
  countersignd,
  openOperator,
  postJson,
  type ServiceProcess,
  startServiceProcess,
  tempDir,
  testEnv,
} from '../support/service.ts'
import { until } from '../support/until.ts'
import { assertInvariants, findLostClaims } from './support/acknowledged-claims.ts'
import { claimAll, formatFailures, type Tally } from './support/claim-load.ts'
import { formatAnswers, type LookupTally, lookUpClaims } from './support/lookup-load.ts'
import { report } from './support/report.ts'
import { diskSkipReason, mountSmallDisk, type SmallDisk } from './support/small-disk.ts'
import { formatDuration, formatPercentiles } from './support/times.ts'

const WITH_DISK = { skip: diskSkipReason() }
const CLAIMS = 1500
/** Extra claims, because some writes still fit into SQLite's write-ahead log after the disk is full. */
const EXTRA_CLAIMS = 1500
const FULL_AFTER = 400
/** How long the disk stays full. */
const FULL_MS = 3000
/** Smaller than the number of agents, so that some lookups read the database. */
const IN_MEMORY = '100'

test(
  'with a full disk under SQLite, claims get 503 until there is space again, and lookups continue',
  WITH_DISK,
  async (t) => {
    const disk = mountSmallDisk(t, 24)
    const env = await testEnv(t, { DATA_DIR: disk.dir, READ_MODEL_AGENTS: IN_MEMORY })
    const claims = await tokensFor(env, CLAIMS + EXTRA_CLAIMS)
    const service = await startServiceProcess(t, env)
    const fault = await fillWhileClaiming(service, disk, claims.slice(EXTRA_CLAIMS))
    told(t, fault)

    disk.fill()
    let fitting = 0
    while ((await claimOnce(service, claims[fitting] as ClaimBody)).status === 200) fitting += 1
    const spare = claims[fitting] as ClaimBody
    await assertRefused(service, spare)
    const [did = ''] = fault.tally.acknowledged.values()
    const revoked = await countersignd(env, 'agent', 'revoke', did)
    assert.equal(revoked.code, 5, 'the command says so as well')
    assert.equal(await service.stop('SIGTERM'), 0)

    const again = await startServiceProcess(t, env)
    assert.deepEqual(
      await findLostClaims(again, fault.tally),
      [],
      'it starts on a full disk, and reads',
    )
    await assertRefused(again, spare)
    disk.makeRoom()
    await until(async () => (await claimOnce(again, spare)).status === 200, 5000)
    const { agents } = await assertInvariants(readSettings(env))
    assert.equal(agents, CLAIMS + fitting + 1)
    await again.stop('SIGTERM')
  },
)

test(
  'with a full disk under PostgreSQL, claims get 503 until there is space again, and lookups continue',
  WITH_DISK,
  async (t) => {
    const disk = mountSmallDisk(t, 192)
    const postgres = await withTmpdir(disk.dir, startPostgres)
    t.after(() => postgres.stop())
    const DATABASE_URL = `${postgres.url}/countersign_template`
    const env = await testEnv(t, {
      DATA_DIR: tempDir(t),
      DATABASE_URL,
      READ_MODEL_AGENTS: IN_MEMORY,
    })
    const claims = await tokensFor(env, CLAIMS)
    const service = await startServiceProcess(t, env)
    const fault = await fillWhileClaiming(service, disk, claims)
    told(t, fault)
    await service.stop('SIGTERM')
    assert.deepEqual(await findLostClaims(await startServiceProcess(t, env), fault.tally), [])
    const { agents } = await assertInvariants(readSettings(env))
    assert.equal(agents, CLAIMS)
  },
)

interface Fault {
  readonly tally: Tally
  readonly lookups: LookupTally
  /** Milliseconds from when there was space again until the next acknowledgement. */
  readonly recovery: number
}

async function tokensFor(env: Record<string, string>, count: number): Promise<ClaimBody[]> {
  const operator = await openOperator(readSettings(env))
  const claims = await prepareClaims(operator, count)
  await operator.close()
  return claims
}

/** Fills the disk during claims, which are repeated until they are acknowledged. */
async function fillWhileClaiming(
  service: ServiceProcess,
  disk: SmallDisk,
  claims: readonly ClaimBody[],
): Promise<Fault> {
  const dids: string[] = []
  const over = new AbortController()
  let roomAt = Number.POSITIVE_INFINITY
  let recovery: number | null = null
  let looking: Promise<LookupTally> | null = null
  const onAcknowledged = (count: number, did: string) => {
    dids.push(did)
    if (performance.now() > roomAt) recovery ??= performance.now() - roomAt
    if (count !== FULL_AFTER) return
    disk.fill()
    const someone = () => dids[Math.floor(Math.random() * dids.length)] as string
    looking = lookUpClaims(service.url, someone, { inFlight: 4, pace: 5, until: over.signal })
    setTimeout(() => {
      disk.makeRoom()
      roomAt = performance.now()
    }, FULL_MS)
  }
  const load = { inFlight: 16, againAfter: 100, onAcknowledged }
  const tally = await claimAll(() => service.url, claims, load)
  over.abort()
  assert.ok(looking !== null && recovery !== null)
  return { tally, lookups: await looking, recovery }
}

function told(t: TestContext, { tally, lookups, recovery }: Fault): void {
  report(t, {
    acknowledged: tally.acknowledged.size,
    'refused while the disk was full': formatFailures(tally),
    'done although refused': tally.doneUnheard.size,
    'lookups while it was full, and after': formatAnswers(lookups),
    'from lookup to answer': formatPercentiles(lookups.times),
    'from room to the next claim': formatDuration(recovery),
  })
  assert.deepEqual([...tally.failures.keys()], ['503 UNAVAILABLE'])
  assert.equal(tally.doneUnheard.size, 0, '"Nothing was changed" is so')
  assert.deepEqual([...lookups.answers.keys()], ['active'])
}

function claimOnce({ url }: ServiceProcess, claim: ClaimBody): Promise<Response> {
  return postJson(`${url}/api/v1/claim`, claim)
}

/** The error envelope (contract section 7) with the code for an unavailable service. */
async function assertRefused(service: ServiceProcess, claim: ClaimBody): Promise<void> {
  const response = await claimOnce(service, claim)
  assert.equal(response.status, 503)
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
  const body = (await response.json()) as { error: Record<string, string> }
  assert.deepEqual(Object.keys(body), ['error'])
  assert.equal(body.error.code, 'UNAVAILABLE')
  assert.match(body.error.requestId ?? '', /^req_/)
}

/** Temporary files that SQLite creates meanwhile are on the small disk too. */
async function withTmpdir<T>(dir: string, work: () => Promise<T>): Promise<T> {
  const before = process.env.TMPDIR
  process.env.TMPDIR = dir
  try {
    return await work()
  } finally {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  }
}
