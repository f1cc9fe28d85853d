import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestService, type TestService } from '../../../../../test/support/service.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { scheduleJob } from '../../../src/database/jobs/job-table.ts'
import { scraping } from '../../http/metrics/support/scrape.ts'

const UNKNOWN_KIND = 'of-the-next-release'

async function jobs({ operator }: TestService) {
  const rows = await operator.db.read.selectFrom('jobs').selectAll().orderBy('id').execute()
  return rows.map((row) => ({ ...row }))
}

test('a failing job counts as late since it was first due, until it is replaced', async (t) => {
  const { env, scrape } = await scraping()
  const clock = { ahead: 0 }
  const now = () => Date.now() + clock.ahead
  const service = await startTestService(t, env, now)
  const due = now() - 400_000
  const bad = { id: 'bad', kind: 'expire-verification', subject: 'no JSON', run_at: due }
  const attempts = async () => (await jobs(service))[0]?.attempts
  await service.operator.db.write((tx) => scheduleJob(tx, bad))
  await untilTicked(service, async () => (await attempts()) === 1)

  const once = await scrape()
  // The alert CountersignJobsLate uses this metric.
  assert.ok((once.get('countersign_jobs_late_seconds') as number) >= 400)
  assert.equal(once.get('countersign_jobs_due'), 1)

  clock.ahead = 61_000
  await untilTicked(service, async () => (await attempts()) === 2)
  const twice = await scrape()
  assert.ok(
    (twice.get('countersign_jobs_late_seconds') as number) >= 461,
    'counted from when it was first due',
  )
  assert.equal(twice.get('countersign_jobs_due'), 1)

  const later = { ...bad, run_at: now() + 3_600_000 }
  await service.operator.db.write((tx) => scheduleJob(tx, later))
  const replaced = await scrape()
  assert.equal(replaced.get('countersign_jobs_late_seconds'), 0)
  assert.equal(replaced.get('countersign_jobs_due'), 0)
})

test('a job is not late because a node of the previous release left the due time of the failed job that it replaced', async (t) => {
  const { env, scrape } = await scraping()
  const clock = { ahead: 0 }
  const service = await startTestService(t, env, () => Date.now() + clock.ahead)
  // That release does not know `due_since`, so it leaves the old value.
  const job = { id: 'x', kind: 'expire-verification', subject: 'no JSON', attempts: 0 }
  const soon = Date.now() + 60_000
  await service.operator.db.write((tx) =>
    tx.db
      .insertInto('jobs')
      .values({ ...job, run_at: soon, due_since: soon - 7_200_000 })
      .execute(),
  )
  assert.equal((await scrape()).get('countersign_jobs_late_seconds'), 0)
  clock.ahead = 61_000
  await untilTicked(service, async () => (await jobs(service))[0]?.attempts === 1)
  assert.equal((await jobs(service))[0]?.due_since, soon)
})

test('jobs of an unknown kind stay for nodes of a newer release, count as late, and do not delay others', async (t) => {
  const { env, scrape } = await scraping()
  const service = await startTestService(t, env)
  const due = Date.now() - 10_000
  // More than one page, all due before the job of a known kind.
  const unknown = Array.from({ length: 120 }, (_, i) => ({
    id: `${UNKNOWN_KIND}:${String(i).padStart(3, '0')}`,
    kind: UNKNOWN_KIND,
    subject: '{}',
    run_at: due,
  }))
  const subject = JSON.stringify({ ownerId: 1, provider: 'mitid' })
  const known = { id: 'known', kind: 'expire-verification', subject, run_at: due + 1 }
  await service.operator.db.write(async (tx) => {
    for (const job of [...unknown, known]) await scheduleJob(tx, job)
  })

  await untilTicked(service, async () => {
    const { read } = service.operator.db
    const done = await read
      .selectFrom('events')
      .select('seq')
      .where('type', '=', 'owner.identity_expired')
      .execute()
    return done.length === 1
  })

  assert.deepEqual(
    await jobs(service),
    unknown.map((job) => ({ ...job, attempts: 0, due_since: null })),
  )
  const found = await scrape()
  assert.equal(found.get('countersign_jobs_due'), 120)
  assert.ok((found.get('countersign_jobs_late_seconds') as number) >= 10)
})
