import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestService } from '../../../../../test/support/service.ts'
import { until } from '../../../../../test/support/until.ts'
import { Visitor } from '../../../../../test/support/visitor.ts'
import { verifyOwner } from '../../../src/accounts/identity/record-verification.ts'
import { loadPepper } from '../../../src/secrets/secrets.ts'

const DAY_MS = 24 * 3_600_000
const LIFETIME_DAYS = 30

test('an account that was never verified, and so claimed nothing, is deleted after 30 days; others stay', async (t) => {
  let now = Date.now()
  const service = await startTestService(t, {}, () => now)
  const { db } = service.operator
  for (const username of ['ada', 'hedy']) await new Visitor(service).signUp(username)
  const added = await service.operator.addVerifiedOwner('added')
  const owners = () =>
    db.read.selectFrom('owners').select(['id', 'username', 'deleted_at']).orderBy('id').execute()
  const byName = new Map((await owners()).map(({ id, username }) => [username, id]))
  await verifyOwner(
    { db, now: () => now, pepper: loadPepper(service.settings) },
    byName.get('hedy') as number,
    { provider: 'in-person', issuer: 'host', subject: 'x', assurance: 'low', expiresAt: null },
  )

  now += LIFETIME_DAYS * DAY_MS - 1
  service.tick()
  assert.equal((await owners()).filter(({ deleted_at }) => deleted_at !== null).length, 0)
  now += 1
  await until(async () => {
    service.tick()
    return (await owners()).some(({ deleted_at }) => deleted_at !== null)
  }, 10_000)
  await until(async () => {
    const jobs = await db.read.selectFrom('jobs').select('id').where('run_at', '<=', now).execute()
    return jobs.length === 0
  }, 10_000)
  const left = (await owners()).filter(({ deleted_at }) => deleted_at === null)
  assert.deepEqual(
    left.map(({ username }) => username),
    ['hedy', 'added'],
  )
  assert.ok(left.some(({ id }) => id === added))
  // The name is free again.
  await new Visitor(service).signUp('ada')
})
