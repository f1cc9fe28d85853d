import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  type AccountExport,
  assertionEvidence,
  decodeBase64Url,
  type Mandate,
  type Mandates,
  type MandateTerms,
  mandateChallenge,
  namingFor,
  type RequestedApproval,
  readApprovalToken,
} from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import {
  APPROVALS,
  type ApprovalWorld,
  allowApprovals,
  approve,
  askApproval,
  asked,
  assertionFor,
  deny,
  givePasskey,
  newApprovalWorld,
  order,
  ownApproval,
  progressOf,
} from '../../../../../test/support/approvals.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { newKey } from '../../../../../test/support/key.ts'
import {
  MANDATES,
  makeMandate,
  mandated,
  mandateRequest,
  orderOf,
  TERMS,
} from '../../../../../test/support/mandates.ts'
import { actingFor, createOrganisation } from '../../../../../test/support/organisations.ts'
import { rotateKey } from '../../../../../test/support/rotate-key.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
/** Stands still unless a test moves it. */
const clock = { at: Date.now(), now: () => clock.at }
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
const inDays = (days: number) => new Date(clock.now() + days * DAY).toISOString()
const mandatedIn = (world: ApprovalWorld, part: Partial<MandateTerms> = {}) =>
  mandated(world, { ...TERMS, ...part }, clock.now())

async function given(world: ApprovalWorld, question: object = orderOf('10.00', 0)) {
  const { id } = await asked(world, question, now())
  assert.equal((await approve(world, id)).status, 200)
  return id
}

async function stateOfAsk(world: ApprovalWorld, question: object): Promise<string> {
  return (await asked(world, question, now())).state
}

async function mandateOf({ owner }: ApprovalWorld, id: string): Promise<Mandate> {
  return jsonOf<Mandate>(await owner.get(`${MANDATES}/${id}`))
}

test('a mandate approves a request like the one that it was made from, and nobody is asked', async () => {
  const world = await newWorld()
  const { id: mandateId, ...mandate } = await mandatedIn(world)
  assert.match(mandateId, /^md_[A-Za-z0-9_-]{22}$/)
  assert.deepEqual(
    [mandate.state, mandate.limits, mandate.body, mandate.total, mandate.perDay, mandate.query],
    ['active', TERMS.limits, TERMS.body, TERMS.total, 10, ''],
  )
  assert.deepEqual([mandate.used, mandate.uses], [{ lastDay: 0, amount: '0.00' }, []])
  const notified = async () => jsonOf(await world.owner.get('/api/account/notifications')).text
  const before = await notified()
  const answer = await askApproval(world, { ...orderOf('42.50', 7), message: 'Paper' }, now())
  assert.equal(answer.status, 201, answer.text)
  const { id, state, by, expiresAt } = jsonOf<RequestedApproval>(answer)
  assert.deepEqual([state, by, Date.parse(expiresAt)], ['approved', 'mandate', clock.now()])
  assert.equal(await notified(), before)

  const progress = await progressOf(service, id)
  const { claims } = readApprovalToken(progress.token ?? '', namingFor())
  const at = Math.floor(clock.now() / 1000)
  assert.deepEqual([claims.by, claims.iat, claims.exp], ['mandate', at, at + 120])
  assert.deepEqual([claims.jti, claims.url], [id, 'https://shop.example/orders/7/confirm'])
  const bytes = (text: string | undefined) => decodeBase64Url(text ?? '') as Uint8Array
  const { assertion } = mandate
  const evidence = assertionEvidence({
    authenticatorData: bytes(assertion?.authenticatorData),
    clientData: bytes(assertion?.clientData),
    signature: bytes(assertion?.signature),
  })
  assert.equal(claims.evidence, evidence)
  const { challenge } = JSON.parse(String(Buffer.from(bytes(assertion?.clientData))))
  const signed = mandateChallenge('svc', mandate.statement)
  assert.equal(challenge, Buffer.from(signed).toString('base64url'))

  const shown = await ownApproval(world.owner, id)
  assert.deepEqual([shown.by, shown.mandate, shown.message], ['mandate', mandateId, 'Paper'])
  assert.deepEqual(shown.assertion, assertion)
  const { used, uses } = await mandateOf(world, mandateId)
  assert.deepEqual(used, { lastDay: 1, amount: '42.50' })
  const { url } = orderOf('', 7).request
  const use = { approval: id, method: 'POST', url, amount: '42.50' }
  assert.deepEqual(uses, [{ ...use, at: new Date(clock.now()).toISOString() }])
  const { events } = jsonOf<{ events: { type: string }[] }>(
    await world.owner.get(`/api/account/agents/${world.did}/history`),
  )
  assert.equal(events[0]?.type, 'agent.approval_decided')
})

test('in an organisation a manager of 72 hours makes mandates; API keys do nothing', async () => {
  const acme = await createOrganisation(service, 'acme')
  await acme.verify()
  const key = newKey()
  const did = await claimAgent(service, acme.id, key)
  const grace = await acme.addMember('grace', 'manager', clock.now() - 72 * HOUR)
  const alan = await acme.addMember('alan', 'manager', clock.now() - 71 * HOUR)
  const ruth = await acme.addMember('ruth', 'responder', clock.now() - 90 * HOUR)
  const recent = actingFor(await signIn(service, grace.self.ownerId, clock.now()), 'acme')
  await allowApprovals({ owner: recent, did })
  const passkeyOf = ({ self }: typeof grace) =>
    givePasskey(service, self.ownerId, clock.now() - 80 * HOUR)
  const graces = { owner: grace, authenticator: await passkeyOf(grace) }
  const alans = { owner: alan, authenticator: await passkeyOf(alan) }
  const { id } = await asked({ service, did, key }, orderOf('10.00'), now())
  assert.equal((await approve(graces, id)).status, 200)
  const wanted = { ...TERMS, expiresAt: inDays(30) }
  assertRefused(await makeMandate(alans, id, wanted), 403, 'FORBIDDEN', /role/)
  const made = await makeMandate(graces, id, wanted)
  assert.equal(made.status, 201, made.text)
  const { id: mandate, createdBy } = jsonOf<Mandate>(made)
  assert.equal(createdBy, 'Owner grace')
  assertRefused(await ruth.get(MANDATES), 403, 'FORBIDDEN', /manager/)
  const at = `${MANDATES}/${mandate}`
  assertRefused(await ruth.send('DELETE', at), 403, 'FORBIDDEN', /manager/)
  assert.equal((await alan.send('DELETE', at)).status, 200)

  const { owner } = await newWorld()
  const scopes = ['agents:read', 'agents:write', 'agents:status', 'agents:revoke']
  const created = await owner.post('/api/account/api-keys', {
    name: 'all',
    scopes,
    expiresInDays: 1,
  })
  const { secret } = jsonOf<{ secret: string }>(created)
  const headers = { authorization: `Bearer ${secret}` }
  for (const [method, target] of [
    ['GET', MANDATES],
    ['GET', at],
    ['DELETE', at],
  ] as const) {
    assertRefused(await ask(service, target, { method, headers }), 403, 'FORBIDDEN')
  }
})

test('what the mandate does not admit is put to the owner', async () => {
  const world = await newWorld()
  await mandatedIn(world)
  for (const question of [
    orderOf('50.01'),
    { request: { ...orderOf('10.00').request, url: 'https://shop.example/baskets/1' } },
    { request: { ...orderOf('10.00').request, url: 'https://shop.example/orders/1?fast=yes' } },
  ]) {
    assert.equal(await stateOfAsk(world, question), 'pending')
  }
  // It needs no place among the pending ones.
  assertRefused(await askApproval(world, orderOf('50.02'), now()), 429, 'RATE_LIMITED')
  assert.equal(await stateOfAsk(world, orderOf('50')), 'approved')
})

test('a total counts each approval in its days, perDay each of 24 hours', async () => {
  const world = await newWorld()
  const total = { pointer: '/total', amount: '100.00', days: 2 }
  const { id } = await mandatedIn(world, { total, perDay: 3 })
  const notices = async () => {
    const owner = await signIn(service, world.owner.ownerId, clock.now())
    const { notifications } = jsonOf<{ notifications: Record<string, string>[] }>(
      await owner.get('/api/account/notifications'),
    )
    const own = notifications.filter(({ title = '' }) => /mandate/.test(title))
    for (const { link } of own) assert.equal(link, '/dashboard/approvals/mandates')
    return own.map(({ title = '' }) => title)
  }
  assert.equal(await stateOfAsk(world, orderOf('40.00', 1)), 'approved')
  assert.equal(await stateOfAsk(world, orderOf('39.99', 2)), 'approved')
  assert.deepEqual(await notices(), [])
  assert.equal(await stateOfAsk(world, orderOf('20.02', 3)), 'pending')
  assert.equal(await stateOfAsk(world, orderOf('0.01', 4)), 'approved')
  assert.match((await notices())[0] ?? '', /80 % of the total/)
  // Three a day.
  assert.equal(await stateOfAsk(world, orderOf('1.00', 5)), 'pending')
  clock.at += DAY + 1
  const { used } = await mandateOf(
    { ...world, owner: await signIn(service, world.owner.ownerId, clock.now()) },
    id,
  )
  assert.deepEqual(used, { lastDay: 0, amount: '80.00' })
  assert.equal(await stateOfAsk(world, orderOf('20.01', 6)), 'pending')
  assert.equal(await stateOfAsk(world, orderOf('20.00', 7)), 'approved')
  assert.match((await notices())[0] ?? '', /whole total of a mandate/)
  assert.equal(await stateOfAsk(world, orderOf('0.01', 8)), 'pending')
  clock.at += DAY
  assert.equal(await stateOfAsk(world, orderOf('50.00', 9)), 'approved')
})

test('requests that a mandate approves are not questions to the owner', async () => {
  const world = await newWorld()
  await mandatedIn(world, { total: null, perDay: 100 })
  for (let i = 0; i < 21; i++) {
    assert.equal(await stateOfAsk(world, orderOf('1.00', i)), 'approved')
  }
  for (const number of [1, 2]) {
    clock.at += 1
    const { id } = await asked(world, order(number), now())
    assert.equal((await deny(world, id)).status, 200)
    clock.at += 1
    // It does not come between two denials in a row.
    assert.equal(await stateOfAsk(world, orderOf('1.00', number)), 'approved')
  }
  assertRefused(await askApproval(world, order(3), now()), 429, 'RATE_LIMITED', /denied/)
})

test('of 25 requests at once a total admits as many as it covers', async () => {
  const world = await newWorld()
  const total = { pointer: '/total', amount: '31.00', days: 30 }
  const { id } = await mandatedIn(world, { total, perDay: 100 })
  const answers = await Promise.all(
    Array.from({ length: 25 }, (_, i) => askApproval(world, orderOf('10.00', i + 1), now())),
  )
  const states = answers.map((each) =>
    each.status === 201 ? jsonOf<RequestedApproval>(each).state : String(each.status),
  )
  assert.deepEqual(states.toSorted(), [
    ...Array(19).fill('429'),
    ...Array(3).fill('approved'),
    ...Array(3).fill('pending'),
  ])
  assert.deepEqual((await mandateOf(world, id)).used, { lastDay: 3, amount: '30.00' })
})

test('the owner ends a mandate, and its statement makes no second one', async () => {
  const world = await newWorld()
  const { owner } = world
  const from = await given(world)
  const body = await mandateRequest(world, from, { ...TERMS, expiresAt: inDays(30) })
  const made = await owner.post(MANDATES, body)
  assert.equal(made.status, 201, made.text)
  const { id } = jsonOf<Mandate>(made)
  const stranger = await newWorld()
  assertRefused(await stranger.owner.send('DELETE', `${MANDATES}/${id}`), 404, 'NOT_FOUND')
  assertRefused(await stranger.owner.get(`${MANDATES}/${id}`), 404, 'NOT_FOUND')
  assert.equal(await stateOfAsk(world, orderOf('1.00', 1)), 'approved')
  for (const _ of [1, 2]) {
    const ended = await owner.send('DELETE', `${MANDATES}/${id}`)
    assert.equal(ended.status, 200, ended.text)
    const { state, endedAt } = jsonOf<Mandate>(ended)
    assert.deepEqual([state, endedAt], ['ended', new Date(clock.now()).toISOString()])
  }
  assert.equal(await stateOfAsk(world, orderOf('1.00', 2)), 'pending')
  const again = await mandateRequest(world, from, { ...TERMS, expiresAt: inDays(30) })
  assertRefused(await owner.post(MANDATES, again), 409, 'CONFLICT', /before/)
  // The counter of the passkey went on.
  assertRefused(await owner.post(MANDATES, body), 401, 'INVALID_SIGNATURE')
  const { mandates, next } = jsonOf<Mandates>(await owner.get(MANDATES))
  assert.deepEqual([mandates.map((each) => each.id), next], [[id], null])
})

test('a mandate ends with time, and for good with a change of its agent', async () => {
  type Change = (world: ApprovalWorld) => Promise<unknown>
  const columns = ({ did }: ApprovalWorld, values: object) =>
    service.operator.db.write((tx) =>
      tx.db.updateTable('agents').set(values).where('tail', '=', did.slice(-24)).execute(),
    )
  const changed = async (
    owner: ApprovalWorld['owner'],
    did: string,
    what: string,
    body: object = {},
  ) => {
    const answer = await owner.post(`/api/account/agents/${did}/${what}`, body)
    assert.equal(answer.status, 200, answer.text)
  }
  const changes: [string, Change, Change][] = [
    [
      'a suspension',
      ({ owner, did }) => changed(owner, did, 'suspend', { reason: 'paused' }),
      ({ owner, did }) => changed(owner, did, 'reactivate'),
    ],
    ['asking off', (world) => allowApprovals(world, false), (world) => allowApprovals(world)],
    [
      'another owner, and back',
      (world) => columns(world, { owner_changed_at: clock.now() }),
      async () => undefined,
    ],
  ]
  for (const [what, change, undo] of changes) {
    const world = await newWorld()
    const { id } = await mandatedIn(world)
    clock.at += 1000
    await change(world)
    await undo(world)
    assert.equal((await mandateOf(world, id)).state, 'ended', what)
    assert.equal(await stateOfAsk(world, orderOf('1.00')), 'pending', what)
  }
  const rotated = await newWorld()
  const { id } = await mandatedIn(rotated)
  const key = newKey()
  await rotateKey(service, rotated.did, new Uint8Array(Buffer.from(key.publicKey, 'base64')))
  assert.equal((await mandateOf(rotated, id)).state, 'ended')
  assert.equal(await stateOfAsk({ ...rotated, key }, orderOf('1.00')), 'pending')

  const world = await newWorld()
  const from = await given(world)
  const made = await makeMandate(world, from, { ...TERMS, expiresAt: inDays(1 / 24) })
  assert.equal(made.status, 201, made.text)
  clock.at += HOUR - 1
  assert.equal(await stateOfAsk(world, orderOf('1.00', 1)), 'approved')
  clock.at += 1
  assert.equal(await stateOfAsk(world, orderOf('1.00', 2)), 'pending')
  assert.equal((await mandateOf(world, jsonOf<Mandate>(made).id)).state, 'expired')
})

test('a mandate is made from an approval that a passkey has given, and only so', async () => {
  const world = await newWorld()
  const { owner } = world
  const from = await given(world)
  const wanted = { ...TERMS, expiresAt: inDays(30) }
  const refused = async (part: object, signed = { ...wanted, ...part }) => {
    const body = await mandateRequest(world, from, wanted, { signed })
    return owner.post(MANDATES, { ...body, ...part })
  }
  for (const part of [
    { expiresAt: inDays(91) },
    { expiresAt: inDays(0) },
    { expiresAt: inDays(30).replace('Z', '+00:00') },
    { perDay: 0 },
    { perDay: 101 },
    { body: null },
    { body: { ...TERMS.body, '/to': { equals: '"Evil GmbH"' } } },
    { body: { ...TERMS.body, '/to': { equals: 'x', atMost: '1' } } },
    { limits: { ...TERMS.limits, origins: ['https://evil.example'] } },
    { limits: { ...TERMS.limits, mcp: ['tools/call'] } },
    { limits: { origins: TERMS.limits.origins, methods: ['POST'] } },
    { total: { ...TERMS.total, days: 91 } },
    { total: { ...TERMS.total, pointer: '/to' } },
    { agent: (await newWorld()).did },
  ]) {
    const answer = await refused(part)
    assertRefused(answer, 400, 'VALIDATION_ERROR')
  }
  // The passkey has signed other terms, another approval, a sign-in, or nothing for this site.
  const more = { ...wanted, perDay: 11 }
  assertRefused(await refused({ perDay: 11 }, wanted), 401, 'INVALID_SIGNATURE')
  assertRefused(await makeMandate(world, from, more, { signed: wanted }), 401, 'INVALID_SIGNATURE')
  const pending = await asked(world, orderOf('60.00', 5), now())
  const response = await assertionFor(world, pending.id)
  const base = await mandateRequest(world, from, wanted)
  assertRefused(await owner.post(MANDATES, { ...base, response }), 401, 'INVALID_SIGNATURE')
  for (const wrong of [{ userVerified: false }, { origin: 'https://evil.example' }]) {
    const answer = await makeMandate(world, from, wanted, wrong)
    assertRefused(answer, 401, 'INVALID_SIGNATURE')
  }
  // An assertion of a mandate approves nothing by itself.
  const at = `${APPROVALS}/${pending.id}/approve`
  assertRefused(await owner.post(at, base), 400, 'VALIDATION_ERROR')
  const { response: signed } = base as { response: unknown }
  assertRefused(await owner.post(at, { response: signed }), 401, 'INVALID_SIGNATURE')
  assertRefused(await makeMandate(world, pending.id, wanted), 409, 'CONFLICT', /has approved/)

  const young = await givePasskey(service, owner.ownerId, clock.now() - HOUR)
  const early = await makeMandate({ owner, authenticator: young }, from, wanted)
  assertRefused(early, 403, 'FORBIDDEN', /72 hours/)
  const stranger = await newWorld()
  const foreign = { ...base, agent: stranger.did }
  assertRefused(await stranger.owner.post(MANDATES, foreign), 404, 'NOT_FOUND')
  assert.equal((await makeMandate(world, from, wanted)).status, 201)
  // What a mandate has approved is no approval to make another one from.
  const admitted = await asked(world, orderOf('1.00', 6), now())
  assert.equal(admitted.state, 'approved')
  assertRefused(await makeMandate(world, admitted.id, wanted), 409, 'CONFLICT', /passkey/)
  await setStatus(service, world.did, 'suspended')
  assertRefused(await makeMandate(world, from, more), 409, 'AGENT_NOT_ACTIVE')
})

test('an agent has at most 20 mandates', async () => {
  const world = await newWorld()
  const from = await given(world)
  const make = (perDay: number) =>
    makeMandate(world, from, { ...TERMS, perDay, expiresAt: inDays(30) })
  const made = []
  for (let i = 1; i <= 20; i++) made.push(jsonOf<Mandate>(await make(i)).id)
  assertRefused(await make(21), 409, 'CONFLICT', /20 mandates/)
  assert.equal((await world.owner.send('DELETE', `${MANDATES}/${made[3]}`)).status, 200)
  assert.equal((await make(21)).status, 201)
})

test('an export has mandates and what they approved; pruning and erasure delete both', async () => {
  const world = await newWorld()
  const { owner } = world
  const { id, statement, assertion } = await mandatedIn(world)
  await asked(world, orderOf('12.00', 2), now())
  const exported = jsonOf<AccountExport>(await owner.get('/api/account/export'))
  const [mandate] = exported.mandates
  assert.deepEqual(
    [mandate?.id, mandate?.statement, mandate?.assertion],
    [id, statement, assertion],
  )
  const [first, second] = exported.approvals
  assert.deepEqual([first?.by, second?.by, second?.mandate], ['passkey', 'mandate', id])
  assert.notEqual(first?.statement, statement)
  assert.deepEqual([second?.statement, second?.assertion], [statement, assertion])

  const { db } = service.operator
  const { deleteOldTexts } = await import('../../../src/statements/approvals/ask.ts')
  const leftAfter = async (days: number) => {
    await deleteOldTexts({ db, now: () => clock.now() + days * DAY })
    const tail = world.did.slice(-24)
    const counts = []
    for (const table of ['mandates', 'approvals'] as const) {
      const rows = await db.read.selectFrom(table).select('id').where('tail', '=', tail).execute()
      counts.push(rows.length)
    }
    return counts
  }
  assert.deepEqual(await leftAfter(399), [1, 2])
  assert.deepEqual(await leftAfter(401), [1, 0])
  assert.deepEqual(await leftAfter(461), [0, 0])

  const erased = await newWorld()
  await mandatedIn(erased)
  await asked(erased, orderOf('12.00', 2), now())
  const { username } = await db.read
    .selectFrom('owners')
    .select('username')
    .where('id', '=', erased.owner.ownerId)
    .executeTakeFirstOrThrow()
  const deleted = await erased.owner.post('/api/account/deletion', { username })
  assert.equal(deleted.status, 200, deleted.text)
  const left = await db.read
    .selectFrom('mandates')
    .select('id')
    .where('owner_id', '=', erased.owner.ownerId)
    .execute()
  assert.deepEqual(left, [])
})
