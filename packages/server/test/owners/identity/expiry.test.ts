import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Card, Identity, Lookup } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import {
  claimAgent,
  countersignd,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'
import { signInNewcomer, verifyIdentity } from '../../../../../test/support/verify-identity.ts'

test('the end of a verification is planned when it is recorded', async (t) => {
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

test('a verification that ends shows everywhere on time, and stays on the page as one to renew', async (t) => {
  const service = await startTestService(t)
  const ownerId = await service.operator.addVerifiedOwner('ada')
  const owner = await signIn(service, ownerId)
  const did = await claimAgent(service, ownerId)
  const end = new Date(Date.now() + 2500)
  const verify = ['owner', 'verify', 'ada', '--provider', 'in-person', '--expires']
  const done = await countersignd(service.env, ...verify, end.toISOString())
  assert.equal(done.code, 0, done.stderr)

  await until(async () => (await events(service)).at(-1) === 'owner.identity_expired')

  assert.ok(Date.now() >= end.getTime())
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

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < 200; i++) {
    if (await condition()) return
    await sleep(50)
  }
  assert.fail('it has not come about within 10 s')
}
