import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claimAgent } from '../../../../../test/support/service.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'
import { until } from '../../../../../test/support/until.ts'
import { signInNewcomer, verifyIdentity } from '../../../../../test/support/verify-identity.ts'
import { verifyOwner } from '../../../src/accounts/identity/record-verification.ts'
import { loadPepper } from '../../../src/secrets/secrets.ts'
import { openStream } from '../../pages/dashboard/event-source.ts'
import { assertNoGap, asTestService, byWorker, startWithWorkers } from './worker-service.ts'

test('an event at one worker reaches the streams of all workers', async (t) => {
  const service = asTestService(await startWithWorkers(t, 3))
  const owner = await signIn(service, await service.operator.addVerifiedOwner())
  const streams = await Promise.all(Array.from({ length: 9 }, () => openStream(service, owner)))
  t.after(() => Promise.all(streams.map((each) => each.close().catch(() => undefined))))
  const did = await claimAgent(service, owner.ownerId)
  for (const stream of streams) {
    const event = await stream.next()
    assert.equal(event?.event, 'agent.claimed')
    assert.equal(event?.data.svcDid, did)
  }
})

test('an identity verification can begin at one worker and end at another', async (t) => {
  const service = await startWithWorkers(t, 3)
  const site = asTestService(service)
  const owners = await Promise.all(Array.from({ length: 6 }, () => signInNewcomer(site)))
  const outcomes = await Promise.all(
    owners.map((owner, i) => verifyIdentity(site, owner, 'dev-low', `Person ${i}`)),
  )
  for (const outcome of outcomes)
    assert.deepEqual(outcome, { verified: 'dev-low', failed: null, code: null, request: null })
  const metrics = await service.metrics()
  const name = 'http_request_duration_seconds_count'
  for (const route of ['/api/identity/:provider/begin', '/identity/callback/:provider'])
    assert.ok(byWorker(metrics, name, `route="${route}"`).size > 1, route)
})

test('a due job runs once', async (t) => {
  const service = await startWithWorkers(t, 3)
  const { operator, settings } = service
  const deps = { db: operator.db, now: Date.now, pepper: loadPepper(settings) }
  const expired = async () =>
    (await assertNoGap(service)).filter((type) => type === 'owner.identity_expired').length
  const count = 20
  // The later rounds show that the workers have gone on since the first.
  for (let round = 1; round <= 3; round++) {
    for (let i = 0; i < count; i++) {
      const subject = { provider: 'in-person', issuer: 'host', subject: `subject ${round} ${i}` }
      const owner = await operator.addVerifiedOwner()
      const expiresAt = Date.now() + 500
      await verifyOwner(deps, owner, { ...subject, assurance: 'high', expiresAt })
    }
    await until(async () => (await expired()) >= round * count)
    assert.equal(await expired(), round * count)
  }
  const of = await operator.db.read
    .selectFrom('events')
    .select('owner_id')
    .where('type', '=', 'owner.identity_expired')
    .execute()
  assert.equal(new Set(of.map(({ owner_id }) => owner_id)).size, 3 * count, 'each owner once')
})
