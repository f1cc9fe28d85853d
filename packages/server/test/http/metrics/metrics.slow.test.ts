import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { newKey } from '../../../../../test/support/key.ts'
import { prepareClaims, sendClaims } from '../../../../../test/support/many-claims.ts'
import { POSTGRES_ONLY, SQLITE_ONLY } from '../../../../../test/support/postgres.ts'
import { fileOf, withRaw } from '../../../../../test/support/raw-database.ts'
import {
  claimAgent,
  claimBody,
  openOperator,
  postJson,
  startServiceProcess,
  startTestService,
  type TestService,
  tempDir,
  testEnv,
} from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import { startStallingProxy } from '../../../../../test/support/stalling-proxy.ts'
import { until } from '../../../../../test/support/until.ts'
import { readSettings } from '../../../src/base/config.ts'
import { VERSION } from '../../../src/base/version.ts'
import { stallWrites } from '../limits/rate-limit/support.ts'
import { scraping } from './support/scrape.ts'

test('the metrics show the build, the phase and the position of the read model', async (t) => {
  const { env, scrape } = await scraping()
  const service = await startTestService(t, env)
  const before = await scrape()
  const database = service.settings.database.kind
  const build = `version="${VERSION}",node="${process.version}",database="${database}"`
  assert.equal(before.get(`countersign_build_info{${build}}`), 1)
  const phases = ['starting', 'ready', 'draining'].map((each) =>
    before.get(`countersign_phase{phase="${each}"}`),
  )
  assert.deepEqual(phases, [0, 1, 0])
  assert.equal(before.get('countersign_lookups_available'), 1)
  await claimAgent(service, await service.operator.addVerifiedOwner())
  await until(async () => (await scrape()).get('countersign_agents_in_memory') === 1, 20_000)
  const after = await scrape()
  const [{ last }] = (await withRaw(service.settings, (raw) =>
    raw.all('SELECT max(seq) AS last FROM events'),
  )) as [{ last: unknown }]
  assert.equal(after.get('countersign_event_position'), Number(last))
  assert.ok((after.get('countersign_staleness_seconds') as number) < 2)
  assert.ok((after.get('nodejs_eventloop_lag_p99_seconds') as number) > 0)
  const text = await (await fetch(`http://localhost:${env.METRICS_PORT}/metrics`)).text()
  assert.match(text, /^# TYPE nodejs_gc_duration_seconds histogram$/m)
})

test('the metrics show free disk space, the clock and the durability of commits', async (t) => {
  const { env, scrape } = await scraping()
  const ahead = 60_000
  const service = await startTestService(t, env, () => Date.now() + ahead)
  const found = await scrape()
  assert.ok((found.get('countersign_data_free_bytes') as number) > 0)
  const clock = found.get('countersign_clock_seconds') as number
  assert.ok(Math.abs(clock - (Date.now() + ahead) / 1000) < 30, String(clock))
  assert.equal(found.get('countersign_database_reachable'), 1)
  assert.equal(found.get('countersign_commits_wait{for="disk"}'), 1)
  assert.equal(found.get('countersign_commits_satisfied'), 1)
  assert.equal(found.get('countersign_standbys_streaming'), 0)
  const connected = service.settings.database.kind === 'postgres'
  assert.equal(found.has('countersign_database_connections{state="idle"}'), connected)
})

test('a draining process reports that phase until it ends', async (t) => {
  const { env, scrape } = await scraping()
  const service = await startTestService(t, { ...env, DRAIN_SECONDS: '3' })
  const stopped = service.stop()
  await until(async () => (await scrape()).get('countersign_phase{phase="draining"}') === 1, 20_000)
  await stopped
  await assert.rejects(scrape())
})

test('claims and verifications are counted by outcome', async (t) => {
  const { env, scrape } = await scraping()
  const service = await startTestService(t, env)
  const { url, operator } = service
  const owner = await operator.addVerifiedOwner()
  const key = newKey()
  const did = await claimAgent(service, owner, key)
  const token = await operator.issueToken(owner)
  const statuses = []
  for (const body of [
    { ...claimBody(token), signature: newKey().sign('something else') },
    claimBody(`svc-verify-${'0'.repeat(32)}`),
    claimBody(token, key),
  ]) {
    statuses.push((await postJson(`${url}/api/v1/claim`, body)).status)
  }
  assert.deepEqual(statuses, [401, 404, 409])
  const challenge = 'is it you?'
  const verify = (signer = key) =>
    postJson(`${url}/api/v1/agent/verify`, {
      publicKey: key.publicKey,
      challenge,
      signature: signer.sign(challenge),
    })
  await verify()
  await verify(newKey())
  await setStatus(service, did, 'suspended')
  await until(async () => ((await (await verify()).json()) as Answer).verified === false, 20_000)
  const found = await scrape()
  const counted = (what: string, outcome: string) =>
    found.get(`countersign_${what}_total{outcome="${outcome}"}`)
  assert.equal(counted('claims', 'claimed'), 1)
  assert.equal(counted('claims', 'invalid_signature'), 1)
  assert.equal(counted('claims', 'not_found'), 1)
  assert.equal(counted('claims', 'key_already_claimed'), 1)
  assert.equal(counted('claims', 'unavailable'), 0)
  assert.ok((counted('verifications', 'verified') as number) >= 1)
  assert.equal(counted('verifications', 'invalid_signature'), 1)
  assert.equal(counted('verifications', 'not_active'), 1)
})

interface Answer {
  readonly verified: boolean
}

/** The transparency log is halted, so that nothing is written but what a test asks for. */
async function startWithoutLog(
  t: TestContext,
  env: Readonly<Record<string, string>>,
  scrape: () => Promise<ReadonlyMap<string, number>>,
): Promise<TestService> {
  const DATA_DIR = env.DATA_DIR ?? tempDir(t)
  const root = Buffer.alloc(32).toString('base64')
  writeFileSync(join(DATA_DIR, 'log-head'), `another.example/log/1\n1\n${root}\n`)
  const service = await startTestService(t, { ...env, DATA_DIR })
  await until(async () => {
    service.tick()
    return (await scrape()).get('countersign_log_halted') === 1
  })
  return service
}

test('grouped writes are counted one by one, and their transactions separately', async (t) => {
  const { env, scrape } = await scraping()
  const service = await startWithoutLog(t, env, scrape)
  const claims = await prepareClaims(service.operator, 40)
  const before = await scrape()
  await sendClaims(service.url, [...claims, ...claims.slice(0, 3)], 20, () => undefined)
  const after = await scrape()
  const grown = (series: string) => (after.get(series) ?? 0) - (before.get(series) ?? 0)
  const committed = grown('countersign_transactions_total{outcome="committed"}')
  assert.equal(grown('countersign_writes_total{outcome="committed"}'), 40)
  assert.ok(committed > 0 && committed < 40, `${committed} transactions`)
  assert.equal(grown('countersign_transaction_seconds_count'), committed)
  assert.equal(grown('countersign_transaction_seconds_bucket{le="+Inf"}'), committed)
  assert.ok(grown('countersign_transaction_seconds_sum') > 0)
  assert.equal(after.get('countersign_writes_waiting'), 0)
})

test('a database locked for too long shows as failed writes', SQLITE_ONLY, async (t) => {
  const { env, scrape } = await scraping()
  const service = await startWithoutLog(t, env, scrape)
  const [claim] = await prepareClaims(service.operator, 1)
  const holder = new DatabaseSync(fileOf(service.settings))
  t.after(() => holder.close())
  holder.exec('BEGIN IMMEDIATE')
  const response = await postJson(`${service.url}/api/v1/claim`, claim)
  assert.equal(response.status, 503)
  holder.exec('ROLLBACK')
  const found = await scrape()
  assert.equal(found.get('countersign_transactions_total{outcome="failed"}'), 1)
  assert.equal(found.get('countersign_writes_total{outcome="failed"}'), 1)
  assert.equal(found.get('countersign_claims_total{outcome="unavailable"}'), 1)
})

test('the metrics show how many e-mails wait, and the age of the oldest', async (t) => {
  const { env, scrape } = await scraping()
  const service = await startTestService(t, env)
  const before = await scrape()
  assert.equal(before.get('countersign_emails_queued'), 0)
  assert.equal(before.get('countersign_emails_oldest_seconds'), 0)
  assert.equal(before.get('countersign_emails_total{outcome="failed"}'), 0)
  const owner_id = await service.operator.addVerifiedOwner('ada')
  const hour = 3_600_000
  const email = { owner_id, notification_id: null, address_id: 'a', address: 'ada@mail.example' }
  // Two are due later, so the service does not send them. The third one was delivered.
  const rows = [
    { id: 'a', created_at: Date.now() - hour, due_at: Date.now() + hour },
    { id: 'b', created_at: Date.now() - 2 * hour, due_at: Date.now() + 2 * hour },
    { id: 'c', created_at: Date.now() - 9 * hour, due_at: null },
  ].map((row) => ({
    ...email,
    ...row,
    attempts: 1,
    leased_by: null,
    held_until: 0,
    interruptions: 0,
  }))
  await service.operator.db.write((tx) => tx.db.insertInto('email_outbox').values(rows).execute())
  const after = await scrape()
  assert.equal(after.get('countersign_emails_queued'), 2)
  const age = after.get('countersign_emails_oldest_seconds') as number
  assert.ok(age >= 7200 && age < 9 * 3600, String(age))
})

test('a commit with an unknown outcome is counted as unknown', POSTGRES_ONLY, async (t) => {
  const { env, scrape } = await scraping()
  const given = await testEnv(t, env)
  const proxy = await startStallingProxy(t, given.DATABASE_URL as string)
  const service = await startWithoutLog(t, { ...given, DATABASE_URL: proxy.url }, scrape)
  const [claim] = await prepareClaims(service.operator, 1)
  proxy.onSent((bytes) => (bytes.includes('; commit') ? 'cut' : undefined))
  const response = await postJson(`${service.url}/api/v1/claim`, claim)
  assert.equal(response.status, 503)
  proxy.onSent(() => undefined)
  const found = await scrape()
  assert.equal(found.get('countersign_transactions_total{outcome="unknown"}'), 1)
  assert.equal(found.get('countersign_writes_total{outcome="unknown"}'), 1)
})

test('a database that does not answer affects no other metric', POSTGRES_ONLY, async (t) => {
  const { env, scrape } = await scraping()
  const given = await testEnv(t, { ...env, MAX_STALENESS: '2' })
  const proxy = await startStallingProxy(t, given.DATABASE_URL as string)
  const service = await startTestService(t, { ...given, DATABASE_URL: proxy.url })
  proxy.pause()
  await until(async () => (await scrape()).get('countersign_lookups_available') === 0, 20_000)
  const found = await scrape()
  assert.ok((found.get('countersign_staleness_seconds') as number) > 2)
  assert.equal(found.get('countersign_jobs_late_seconds'), Number.NaN)
  assert.equal(found.get('countersign_phase{phase="ready"}'), 1)
  const response = await fetch(`${service.url}/api/v1/agent/${'1'.repeat(24)}`)
  assert.equal(response.status, 503)
  proxy.resume()
  await until(async () => (await scrape()).get('countersign_lookups_available') === 1, 20_000)
})

test('overdue jobs are counted, with their delay', async (t) => {
  const { env, scrape } = await scraping()
  // A process of its own: who waits for the lock of a file stands still.
  const service = await startServiceProcess(t, env)
  const settings = readSettings(service.env)
  const operator = await openOperator(settings)
  t.after(() => operator.close())
  const { db } = operator
  const subject = JSON.stringify({ ownerId: 1, provider: 'mitid' })
  const planned = { id: 'slow', kind: 'expire-verification', subject }
  const job = { ...planned, run_at: Date.now() + 3000, attempts: 0 }
  await db.write((tx) => tx.db.insertInto('jobs').values(job).execute())
  assert.equal((await scrape()).get('countersign_jobs_due'), 0)
  const goOn = await stallWrites(t, settings)
  await until(
    async () => ((await scrape()).get('countersign_jobs_late_seconds') ?? 0) > 0.5,
    20_000,
  )
  assert.equal((await scrape()).get('countersign_jobs_due'), 1)
  await goOn()
  await until(async () => (await scrape()).get('countersign_jobs_due') === 0, 30_000)
  assert.equal((await scrape()).get('countersign_jobs_late_seconds'), 0)
})
