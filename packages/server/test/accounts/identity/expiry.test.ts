import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import type { Card, Identity, Lookup, SessionState } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import {
  claimAgent,
  countersignd,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { signInNewcomer, verifyIdentity } from '../../../../../test/support/verify-identity.ts'

test('recording a verification schedules its expiry', async (t) => {
  const service = await startTestService(t)
  const owner = await signInNewcomer(service)
  await verifyIdentity(service, owner, 'dev-high', 'Ada')
  const { read } = service.operator.db
  const row = await read.selectFrom('identity_verifications').selectAll().executeTakeFirstOrThrow()
  const jobs = await read.selectFrom('jobs').selectAll().execute()
  assert.deepEqual(
    jobs.map(({ kind, subject, run_at }) => ({ kind, subject, run_at })),
    [
      {
        kind: 'expire-verification',
        subject: JSON.stringify({ ownerId: owner.ownerId, provider: 'dev-high' }),
        run_at: row.expires_at,
      },
    ],
  )
})

test('an expired verification stops counting everywhere on time, and is shown as one to renew', async (t) => {
  const clock = { ahead: 0 }
  const service = await startTestService(t, {}, () => Date.now() + clock.ahead)
  const ownerId = await service.operator.addVerifiedOwner('ada')
  const owner = await signIn(service, ownerId)
  const did = await claimAgent(service, ownerId)
  const end = new Date(Date.now() + 120_000)
  const verify = ['owner', 'verify', 'ada', '--provider', 'in-person', '--expires']
  const done = await countersignd(service.env, ...verify, end.toISOString())
  assert.equal(done.code, 0, done.stderr)

  const given = jsonOf<Identity>(await owner.get('/api/identity')).verifications
  assert.deepEqual(
    given.map(({ expiresAt, expired }) => [expiresAt, expired]),
    [[end.toISOString(), false]],
  )
  assert.ok(!(await events(service)).includes('owner.identity_expired'))
  clock.ahead = end.getTime() - Date.now()
  const ended = ['owner.identity_expired', 'agent.grade_changed']
  await untilTicked(service, async () =>
    isDeepStrictEqual((await events(service)).slice(-2), ended),
  )

  const lookup = jsonOf<Lookup>(await ask(service, `/api/v1/agent/${did}`))
  assert.equal(lookup.owner.identityMethod, null)
  assert.equal(lookup.owner.identityLevel, 'unverified')
  const card = jsonOf<Card>(await ask(service, `/api/agents/${did}/card`))
  assert.deepEqual([card.grade, card.verification], ['E', null])
  assertRefused(await owner.post('/api/agents/token'), 403, 'IDENTITY_REQUIRED')
  const { verifications } = jsonOf<Identity>(await owner.get('/api/identity'))
  assert.deepEqual(
    verifications.map(({ provider, label, expired, ifRemoved }) => ({
      provider,
      label,
      expired,
      grades: ifRemoved.grades,
    })),
    [{ provider: 'in-person', label: 'In person', expired: true, grades: [] }],
  )
})

async function events({ operator }: TestService): Promise<string[]> {
  const rows = await operator.db.read.selectFrom('events').select('type').orderBy('seq').execute()
  return rows.map(({ type }) => type)
}

test('the session state names the verification that expires soon or has expired', async (t) => {
  const service = await startTestService(t)
  const owner = await signIn(service, await service.operator.addVerifiedOwner('ada'))
  const renewal = async () => jsonOf<SessionState>(await owner.get('/api/session')).renewal
  const DAY_MS = 86_400_000
  const set = (verifiedDaysAgo: number, endsInDays: number) => {
    const expires_at = Date.now() + endsInDays * DAY_MS
    const values = { verified_at: Date.now() - verifiedDaysAgo * DAY_MS, expires_at }
    return service.operator.db.write(async (tx) => {
      await tx.db.updateTable('identity_verifications').set(values).execute()
      return new Date(expires_at).toISOString()
    })
  }
  assert.equal(await renewal(), null)
  await set(300, 31)
  assert.equal(await renewal(), null)
  const soon = await set(300, 29)
  const said = { provider: 'in-person', label: 'In person' }
  assert.deepEqual(await renewal(), { ...said, expiresAt: soon, expired: false })
  // A short verification is due for renewal in the last fifth of its validity.
  await set(7, 3)
  assert.equal(await renewal(), null)
  const ended = await set(300, -1)
  assert.deepEqual(await renewal(), { ...said, expiresAt: ended, expired: true })
})
