import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Card, Identity, Lookup } from '@countersign/protocol'
import { type Answer, assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { insertProvenChannel } from '../../../../../test/support/channel-rows.ts'
import { textOfTables } from '../../../../../test/support/raw-database.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { type SignedInOwner, signIn } from '../../../../../test/support/signed-in.ts'
import {
  beginIdentity,
  comeBack,
  logInAtProvider,
  signInNewcomer,
  verifyIdentity,
} from '../../../../../test/support/verify-identity.ts'

test('one person verifies one account: a second is rejected, and nothing changes', async (t) => {
  const service = await startTestService(t)
  const [first, second] = [await signInNewcomer(service), await signInNewcomer(service)]
  await verifyIdentity(service, first, 'dev-high', 'Ada')
  const before = await rows(service)

  const outcome = await verifyIdentity(service, second, 'dev-high', 'Ada')

  assert.equal(outcome.failed, 'dev-high')
  assert.equal(outcome.code, 'other-account')
  assert.match(outcome.request as string, /^req_/)
  assert.deepEqual(await rows(service), before)
  assert.deepEqual(await providersOf(second), [])
})

test('of ten accounts that one person verifies concurrently, one is verified', async (t) => {
  const service = await startTestService(t)
  const owners = await Promise.all(Array.from({ length: 10 }, () => signInNewcomer(service)))
  const backs = await Promise.all(
    owners.map(async (owner) => {
      const begun = await beginIdentity(owner, 'dev-substantial')
      return { begun, url: await logInAtProvider(service, begun, 'Ada') }
    }),
  )

  const outcomes = await Promise.all(backs.map(({ begun, url }) => comeBack(begun.browser, url)))

  assert.equal(outcomes.filter((each) => each.verified !== null).length, 1)
  for (const each of outcomes.filter(({ verified }) => verified === null)) {
    assert.equal(each.code, 'other-account')
  }
  assert.equal((await rows(service)).verifications.length, 1)
})

test('another person, and the same person at another provider, can verify another account', async (t) => {
  const service = await startTestService(t)
  const [first, second] = [await signInNewcomer(service), await signInNewcomer(service)]
  await verifyIdentity(service, first, 'dev-high', 'Ada')
  assert.equal((await verifyIdentity(service, second, 'dev-high', 'Grace')).verified, 'dev-high')
  assert.equal((await verifyIdentity(service, second, 'dev-low', 'Ada')).verified, 'dev-low')
})

test('verifying again renews: later dates, still one verification, and its expiry is rescheduled', async (t) => {
  const service = await startTestService(t)
  const owner = await signInNewcomer(service)
  await verifyIdentity(service, owner, 'dev-low', 'Ada')
  const [before] = (await rows(service)).verifications
  await verifyIdentity(service, owner, 'dev-low', 'Ada')
  const { verifications, jobs, events } = await rows(service)
  const [after, ...more] = verifications
  assert.deepEqual(more, [])
  assert.ok(after && before && after.verified_at > before.verified_at)
  assert.deepEqual(after.subject_hash, before.subject_hash)
  assert.deepEqual(
    jobs.map(({ run_at }) => run_at),
    [after.expires_at],
  )
  assert.deepEqual(
    events.map(({ type, payload }) => [type, payload]),
    Array(2).fill(['owner.identity_verified', '{"provider":"dev-low","assurance":"low"}']),
  )
})

test('removing a verification takes effect at once in lookup, card and claims', async (t) => {
  const service = await startTestService(t)
  const owner = await signInNewcomer(service)
  await verifyIdentity(service, owner, 'dev-high', 'Ada')
  const did = await claimAgent(service, owner.ownerId)
  assert.deepEqual(await seen(service, did), {
    identityMethod: 'dev-high',
    grade: 'C',
    label: 'Development, high assurance',
  })

  const removed = await owner.send('DELETE', '/api/identity/dev-high')

  assert.equal(removed.status, 204, removed.text)
  assert.deepEqual(await seen(service, did), {
    identityMethod: null,
    grade: 'E',
    label: null,
  })
  assert.deepEqual(await providersOf(owner), [])
  assertRefused(await owner.post('/api/agents/token'), 403, 'IDENTITY_REQUIRED')
  assert.deepEqual((await rows(service)).jobs, [])
  assertRefused(await owner.send('DELETE', '/api/identity/dev-high'), 404, 'NOT_FOUND')
  // After removing the verification, the same person can verify another account.
  const other = await signInNewcomer(service)
  assert.equal((await verifyIdentity(service, other, 'dev-high', 'Ada')).verified, 'dev-high')
})

test('removing a verification needs a recent sign-in', async (t) => {
  const service = await startTestService(t)
  const owner = await signInNewcomer(service)
  await verifyIdentity(service, owner, 'dev-low', 'Ada')
  const tired = await signIn(service, owner.ownerId, Date.now() - 600_000)
  const answer = await tired.send('DELETE', '/api/identity/dev-low')
  assertRefused(answer, 403, 'RECENT_SIGN_IN_REQUIRED')
  assert.deepEqual(await providersOf(owner), ['dev-low'])
})

test('the overview shows the effect of removing a verification', async (t) => {
  const service = await startTestService(t)
  const owner = await signInNewcomer(service)
  await verifyIdentity(service, owner, 'dev-high', 'Ada')
  await verifyIdentity(service, owner, 'dev-low', 'Ada')
  const dids = []
  for (let i = 0; i < 3; i++) dids.push(await claimAgent(service, owner.ownerId))
  await owner.post(`/api/account/agents/${dids[2]}/suspend`)
  await addChannel(service, (dids[0] as string).slice(-24))

  const effects = new Map(
    (await verificationsOf(owner)).map((each) => [each.provider, each.ifRemoved]),
  )

  assert.deepEqual(effects.get('dev-high'), {
    canClaim: true,
    identityLevel: 'dev-low',
    activeAgents: 2,
    grades: [
      { from: 'A', to: 'B', agents: 1 },
      { from: 'C', to: 'D', agents: 1 },
    ],
  })
  assert.deepEqual(effects.get('dev-low'), {
    canClaim: true,
    identityLevel: 'dev-high',
    activeAgents: 2,
    grades: [],
  })
  await owner.send('DELETE', '/api/identity/dev-high')
  const [left] = await verificationsOf(owner)
  assert.deepEqual(left?.ifRemoved, {
    canClaim: false,
    identityLevel: 'unverified',
    activeAgents: 2,
    grades: [
      { from: 'B', to: 'C', agents: 1 },
      { from: 'D', to: 'E', agents: 1 },
    ],
  })
})

test('renewal is due 30 days before expiry, and later for short verifications', async (t) => {
  const service = await startTestService(t)
  const owner = await signInNewcomer(service)
  await verifyIdentity(service, owner, 'dev-high', 'Ada')
  await verifyIdentity(service, owner, 'dev-low', 'Ada')
  const days = (await verificationsOf(owner)).map(
    ({ renewFrom, expiresAt }) =>
      (Date.parse(expiresAt as string) - Date.parse(renewFrom as string)) / 86_400_000,
  )
  const [long, short = 0] = days
  assert.equal(long, 30)
  // Of 12 days that end with a day.
  assert.ok(short > 5.5 && short <= 6, String(short))
})

test('the database stores neither names nor tokens of a provider', async (t) => {
  const service = await startTestService(t)
  const owner = await signInNewcomer(service)
  await verifyIdentity(service, owner, 'dev-high', 'Ada-the-Subject')
  const begun = await beginIdentity(owner, 'dev-low')
  const back = await logInAtProvider(service, begun, 'Grace-the-Subject')
  const code = back.searchParams.get('code') as string
  await comeBack(begun.browser, back)
  const dir = service.settings.dataDir
  const files = readdirSync(dir).map((file) => readFileSync(join(dir, file)).toString('latin1'))
  const held = files.join('') + (await textOfTables(service.settings))
  assert.ok(held.includes('dev-high'), 'it is where we look')
  for (const secret of ['the-Subject', code]) {
    assert.ok(!held.includes(secret), `${secret} is stored`)
  }
  // Three letters alone are found in random bytes now and then.
  assert.doesNotMatch(held, /eyJ[\w-]{16,}\./, 'no JSON Web Token is stored')
})

async function verificationsOf(owner: SignedInOwner) {
  return jsonOf<Identity>(await owner.get('/api/identity')).verifications
}

async function providersOf(owner: SignedInOwner): Promise<string[]> {
  return (await verificationsOf(owner)).map((each) => each.provider)
}

async function seen(service: TestService, did: string) {
  const [lookup, card]: Answer[] = (await Promise.all(
    [`/api/v1/agent/${did}`, `/api/agents/${did}/card`].map((each) => ask(service, each)),
  )) as [Answer, Answer]
  const { grade, verification } = jsonOf<Card>(card as Answer)
  const { identityMethod } = jsonOf<Lookup>(lookup as Answer).owner
  return { identityMethod, grade, label: verification?.label ?? null }
}

async function addChannel(service: TestService, tail: string): Promise<void> {
  const channel = { kind: 'domain', handle_or_domain: 'example.com', tier: 2 } as const
  await service.operator.db.write((tx) => insertProvenChannel(tx, tail, channel))
}

async function rows(service: TestService) {
  const { read } = service.operator.db
  return {
    verifications: await read.selectFrom('identity_verifications').selectAll().execute(),
    jobs: await read.selectFrom('jobs').selectAll().execute(),
    events: await read
      .selectFrom('events')
      .selectAll()
      .where('type', 'like', 'owner.%')
      .orderBy('seq')
      .execute(),
  }
}
