import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Activity, OwnerApprovals, RequestedApproval } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import {
  APPROVALS,
  allowApprovals,
  approve,
  askApproval,
  asked,
  deny,
  newApprovalWorld,
  order,
  ownApproval,
  PAPER,
  progressOf,
} from '../../../../../test/support/approvals.ts'
import { newKey } from '../../../../../test/support/key.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'

/** Stands still unless a test moves it. */
const clock = {
  at: Date.now(),
  now: () => clock.at,
  advance(hours: number) {
    clock.at += hours * 3_600_000
  },
}
let service: TestService
const ends: (() => unknown)[] = []
before(async () => {
  service = await startTestService({ after: (end) => ends.push(end) }, {}, clock.now)
})
after(async () => {
  for (const end of ends.reverse()) await end()
})
const newWorld = () => newApprovalWorld(service, clock.now)
const now = () => ({ createdAt: clock.now() })

test('an agent asks, its owner sees the request as it is, and the same question is asked once', async () => {
  const world = await newWorld()
  const question = { request: PAPER, message: 'Printer paper, as every month', validSeconds: 120 }
  const first = await asked(world, question, now())
  assert.match(first.id, /^ap_[A-Za-z0-9_-]{22}$/)
  assert.equal(first.state, 'pending')
  assert.equal(Date.parse(first.expiresAt), clock.now() + 900_000)
  assert.equal(first.approveUrl, `${service.url}/dashboard/approvals/${first.id}`)
  const again = await askApproval(world, question, now())
  assert.equal(again.status, 200)
  assert.deepEqual(jsonOf<RequestedApproval>(again), first)
  const other = await asked(world, { ...question, message: 'Toner' }, now())
  assert.notEqual(other.id, first.id)

  const shown = await ownApproval(world.owner, first.id)
  const { method, url, contentType, body, message, state, agent, validSeconds } = shown
  assert.deepEqual({ method, url, contentType, body }, PAPER)
  assert.deepEqual([agent, message, state], [world.did, question.message, 'pending'])
  assert.deepEqual([validSeconds, shown.service, shown.firstForOrigin], [120, service.url, true])
  assert.equal(Buffer.from(shown.salt, 'base64url').length, 32)
  const list = jsonOf<OwnerApprovals>(await world.owner.get(APPROVALS))
  assert.deepEqual(
    list.approvals.map(({ id }) => id),
    [other.id, first.id],
  )
  assert.equal(list.pending, 2)
  const progress = await progressOf(service, first.id)
  assert.deepEqual(progress, { id: first.id, state: 'pending', expiresAt: first.expiresAt })
})

test('only an active agent that may ask is heard, and the owner alone lets it', async () => {
  const world = await newWorld()
  const { owner, did, key } = world
  const stranger = await newWorld()
  const named = { signer: stranger.did, key: stranger.key, ...now() }
  assertRefused(await askApproval(world, undefined, named), 403, 'FORBIDDEN', /Another agent/)
  const wrong = { key: newKey(), ...now() }
  assertRefused(await askApproval(world, undefined, wrong), 401, 'INVALID_SIGNATURE')
  const body = { signedBody: '{}', ...now() }
  assertRefused(await askApproval(world, undefined, body), 401, 'INVALID_SIGNATURE')

  const quiet = await claimAgent(service, owner.ownerId, key, 'quiet')
  const off = { service, did: quiet, key }
  assertRefused(await askApproval(off, undefined, now()), 403, 'FORBIDDEN', /turn on approvals/)
  const at = `/api/account/agents/${quiet}/approvals`
  const old = await signIn(service, owner.ownerId, clock.now() - 11 * 60_000)
  assertRefused(await old.send('PUT', at, { enabled: true }), 403, 'RECENT_SIGN_IN_REQUIRED')
  assertRefused(await stranger.owner.send('PUT', at, { enabled: true }), 404, 'NOT_FOUND')
  const before = await owner.get(`/api/account/agents/${quiet}`)
  assert.equal(jsonOf(before).approvalsEnabled, false)
  assert.equal((await owner.send('PUT', at, { enabled: true })).status, 200)
  const after = jsonOf(await owner.get(`/api/account/agents/${quiet}`))
  assert.deepEqual(after, { ...jsonOf(before), approvalsEnabled: true })
  const unchanged = await old.send('PUT', at, { enabled: true })
  assert.deepEqual(jsonOf(unchanged), { enabled: true, changedAt: null })
  assert.equal((await askApproval(off, undefined, now())).status, 201)
  assert.equal((await old.send('PUT', at, { enabled: false })).status, 200)

  await setStatus(service, did, 'suspended')
  assertRefused(await askApproval(world, undefined, now()), 409, 'AGENT_NOT_ACTIVE')
})

test('asking is turned on for a live agent of an owner in good standing only, and both are recorded', async () => {
  const world = await newWorld()
  const { owner, did } = world
  const set = (agent: string, enabled: boolean) =>
    owner.send('PUT', `/api/account/agents/${agent}/approvals`, { enabled })
  const revoked = await claimAgent(service, owner.ownerId, world.key, 'revoked')
  await setStatus(service, revoked, 'revoked')
  assertRefused(await set(revoked, true), 409, 'AGENT_NOT_ACTIVE')
  const off = await set(did, false)
  assert.equal(Date.parse(String(jsonOf(off).changedAt)), clock.now())
  const { db } = service.operator
  await db.write((tx) =>
    tx.db.updateTable('owners').set({ suspended_at: 1 }).where('id', '=', owner.ownerId).execute(),
  )
  assertRefused(await set(did, true), 403, 'FORBIDDEN', /suspended this account/)
  // Turning off is always possible.
  assert.equal((await set(did, false)).status, 200)
  const { events } = jsonOf<Activity>(await owner.get('/api/account/activity'))
  const types = events.map(({ type }) => type).filter((type) => type.includes('approvals'))
  assert.deepEqual(types, ['owner.approvals_turned_off', 'owner.approvals_turned_on'])
})

test('what servers read differently, or does not fit, cannot be asked', async () => {
  const world = await newWorld()
  const refused = [
    { body: '{"total":1,"total":1000}' },
    { body: '{"total":1,"Total":1000}' },
    { body: '{"to":"\\ud800"}' },
    { body: `{"a":[${Array(41).fill(1)}]}` },
    { body: `{"a":"${'ä'.repeat(2046)}"}` },
    { url: 'https://shop.example/?amount=%31%30' },
    { url: `${service.url}/api/account/approvals` },
    { url: 'http://shop.example/' },
    // The token would be too long for a header.
    { url: `https://${'a.'.repeat(400)}example/` },
    { method: 'OPTIONS' },
    { method: 'post' },
    { contentType: 'text/plain' },
    { unknown: 1 },
  ]
  for (const part of refused) {
    const answer = await askApproval(world, { request: { ...PAPER, ...part } }, now())
    assertRefused(answer, 400, 'VALIDATION_ERROR')
  }
  for (const part of [
    { message: '' },
    { message: 'a'.repeat(201) },
    { message: 'pay \u202e001' },
    { message: 'verified \u2713' },
    { expiresInSeconds: 59 },
    { validSeconds: 3601 },
  ]) {
    const answer = await askApproval(world, { request: PAPER, ...part }, now())
    assertRefused(answer, 400, 'VALIDATION_ERROR')
  }
})

test('an agent has at most three pending questions and twenty a day', async () => {
  const world = await newWorld()
  const ids: string[] = []
  for (let i = 0; i < 3; i++) ids.push((await asked(world, order(i), now())).id)
  const limited = await askApproval(world, order(3), now())
  assertRefused(limited, 429, 'RATE_LIMITED', /3 approvals/)
  assert.equal(limited.headers.get('retry-after'), '900')
  // A question that is pending already needs no place.
  assert.equal((await askApproval(world, order(2), now())).status, 200)
  // Each has expired when the next one comes.
  for (let i = 3; i < 20; i++) {
    clock.advance(0.26)
    await asked(world, order(i), now())
  }
  assert.equal((await progressOf(service, ids[0] as string)).state, 'expired')
  const daily = await askApproval(world, order(20), now())
  assertRefused(daily, 429, 'RATE_LIMITED', /20 times a day/)
  clock.advance(24 - 17 * 0.26 + 0.01)
  await asked(world, order(20), now())
})

test('after two denials in a row an agent has to wait for an hour', async () => {
  const world = await newWorld()
  for (const number of [1, 2]) {
    const { id } = await asked(world, order(number), now())
    assert.equal((await deny(world, id)).status, 200)
  }
  const waiting = await askApproval(world, order(3), now())
  assertRefused(waiting, 429, 'RATE_LIMITED', /denied/)
  assert.equal(waiting.headers.get('retry-after'), '3600')
  clock.advance(1)
  const { id } = await asked(world, order(3), now())
  assert.equal((await approve(world, id)).status, 200)
  // An approval between them, and it is not in a row.
  clock.advance(0.01)
  const next = await asked(world, order(4), now())
  assert.equal((await deny(world, next.id)).status, 200)
  await asked(world, order(5), now())
})

test('all agents of an owner have at most ten pending questions', async () => {
  const world = await newWorld()
  const { owner, key } = world
  for (let i = 0; i < 10; i++) {
    if (i % 3 !== 0) {
      await asked(world, order(i), now())
      continue
    }
    const did = await claimAgent(service, owner.ownerId, key, `agent ${i}`)
    Object.assign(world, { did })
    await allowApprovals({ owner, did })
    await asked(world, order(i), now())
  }
  assertRefused(await askApproval(world, order(10), now()), 429, 'RATE_LIMITED', /10 approvals/)
})

test('turning it off cancels what is pending for good', async () => {
  const world = await newWorld()
  const [first, second] = [await asked(world, order(1), now()), await asked(world, order(2), now())]
  assert.equal((await deny(world, first.id, true)).status, 200)
  assert.equal((await progressOf(service, second.id)).state, 'cancelled')
  assertRefused(await askApproval(world, order(3), now()), 403, 'FORBIDDEN', /turn on/)
  await allowApprovals(world)
  assert.equal((await progressOf(service, second.id)).state, 'cancelled')
  assert.notEqual((await asked(world, order(2), now())).id, second.id)
})

test('the owner is notified without the body and the message, and nothing is public', async () => {
  const world = await newWorld()
  const { owner, did } = world
  const lookup = async () => {
    const answer = await fetch(`${service.url}/api/v1/agent/${did}`)
    const { asOf: _, ...rest } = (await answer.json()) as Record<string, unknown>
    return rest
  }
  const before = await lookup()
  clock.advance(0.01)
  const { id } = await asked(world, { request: PAPER, message: 'Printer paper' }, now())
  assert.deepEqual(await lookup(), before)
  const { notifications } = jsonOf<{ notifications: Record<string, string>[] }>(
    await owner.get('/api/account/notifications'),
  )
  const [notification] = notifications.filter(({ kind }) => kind === 'approval')
  assert.equal(notification?.link, `/dashboard/approvals/${id}`)
  assert.match(String(notification?.text), /POST request to the site “shop·example”/)
  assert.doesNotMatch(JSON.stringify(notification), /129|Printer|4711/)
  const history = jsonOf<{ events: { type: string; payload: object }[] }>(
    await owner.get(`/api/account/agents/${did}/history`),
  )
  assert.deepEqual(history.events[0]?.type, 'agent.approval_requested')
})

test('who does not know the id learns nothing, and nobody else reads an approval', async () => {
  const world = await newWorld()
  const { id } = await asked(world, order(1), now())
  const other = await signIn(service, await service.operator.addVerifiedOwner(), clock.now())
  assertRefused(await other.get(`${APPROVALS}/${id}`), 404, 'NOT_FOUND')
  for (const unknown of [`ap_${'A'.repeat(22)}`, 'ap_%00', 'x']) {
    assert.equal((await fetch(`${service.url}/api/v1/approvals/${unknown}`)).status, 404)
  }
})
