import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { type CertificateClaims, MAX_DELEGATION_GROUPS } from '@countersign/protocol'
import { certificateOf, decodeJws } from '../../../../../test/support/agent-certificates.ts'
import { type Answer, assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { post } from '../../../../../test/support/ask.ts'
import { chainVerdict, delegateTo, type Hop } from '../../../../../test/support/chains.ts'
import { createGroup, endGroup } from '../../../../../test/support/delegation-groups.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { reportWith, rotateTo } from '../../../../../test/support/key-operations.ts'
import { startTestService, type TestService } from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import { signInBy, TestClock } from '../../../../../test/support/sign-in-by.ts'
import { referenceIn } from '../../../../../test/support/status-feed.ts'
import { until } from '../../../../../test/support/until.ts'
import { suspendOwner } from '../../../src/agents/manage/suspend-owner.ts'
import { AGENTS } from '../../agents/manage/with-agent.ts'
import { type DelegatingAgent, Delegations, ok } from '../../agents/manage/with-delegation.ts'

suite('a group of delegations', () => {
  const clock = new TestClock()
  const ends: (() => unknown)[] = []
  let service: TestService
  let agents: Delegations
  before(async () => {
    service = await startTestService({ after: (end) => ends.push(end) }, {}, clock.now)
    agents = new Delegations(service, clock)
  })
  after(async () => {
    for (const end of ends.toReversed()) await end()
  })

  const create = (agent: DelegatingAgent, label: unknown = 'nightly import') =>
    createGroup(service, agent, label, clock.now)
  const end = (agent: DelegatingAgent, id: string) => endGroup(service, agent, id, clock.now)
  const listOf = async ({ owner, did }: DelegatingAgent) =>
    jsonOf<{ delegations: { id: string; label: string }[] }>(
      await owner.get(`${AGENTS}/${did}/delegations`),
    ).delegations

  interface Group {
    readonly id: string
    readonly certificate: string
    readonly expiresAt: string
    readonly worker: Hop
  }

  async function group(agent: DelegatingAgent, label?: string): Promise<Group> {
    const answer = await create(agent, label)
    assert.equal(answer.status, 201, answer.text)
    const created = jsonOf<Omit<Group, 'worker'>>(answer)
    const worker = await delegateTo(agent, created.certificate, clock.now)
    return { ...created, worker }
  }

  const reasonOf = ({ worker }: Pick<Group, 'worker'>) => chainVerdict(service, worker, clock.now)

  async function countOf(table: 'delegations' | 'jobs', tail: string): Promise<number> {
    const { read } = service.operator.db
    if (table === 'jobs') {
      const jobs = await read
        .selectFrom('jobs')
        .select('id')
        .where('kind', '=', 'delete-delegation')
      return (await jobs.execute()).length
    }
    const rows = read.selectFrom('delegations').select('id').where('tail', '=', tail)
    return (await rows.execute()).length
  }

  test('has a certificate with a status of its own, and ends without the others', async () => {
    const agent = await agents.claimed(1)
    const { did, owner } = agent
    const main = await certificateOf(service, did)
    const direct = { worker: await delegateTo(agent, main, clock.now) }
    const first = await group(agent, 'first')
    const second = await group(agent, 'second')
    const claims = decodeJws<CertificateClaims>(first.certificate).claims
    // The log may have got the agent's key in between.
    const own = { status: null, iat: 0, exp: 0, jti: '', log: null }
    const ordinary = { ...decodeJws<CertificateClaims>(main).claims, ...own }
    assert.deepEqual({ ...claims, ...own }, ordinary, 'an ordinary certificate')
    assert.equal(Date.parse(first.expiresAt), claims.exp * 1000)
    const entries = [main, first.certificate, second.certificate].map((each) =>
      JSON.stringify(referenceIn(each)),
    )
    assert.equal(new Set(entries).size, 3)
    assert.deepEqual(
      (await listOf(agent)).map(({ id, label }) => [id, label]).toSorted(),
      [
        [first.id, 'first'],
        [second.id, 'second'],
      ].toSorted(),
    )
    for (const each of [direct, first, second]) assert.equal(await reasonOf(each), null)

    const ended = jsonOf(ok(await end(agent, first.id)))
    assert.equal(ended.id, first.id)
    await until(async () => (await reasonOf(first)) === 'delegation-ended')
    assert.equal(await reasonOf(second), null)
    assert.equal(await reasonOf(direct), null)
    assert.deepEqual(
      referenceIn(await certificateOf(service, did)),
      referenceIn(main),
      'the main entry stays',
    )
    assert.deepEqual(
      (await listOf(agent)).map(({ id }) => id),
      [second.id],
    )
    const { agents: exported } = jsonOf<{ agents: { delegations: object[] }[] }>(
      await owner.get('/api/account/export'),
    )
    assert.equal(exported[0]?.delegations.length, 2, 'an ended one is exported too')
    // Ended twice: nothing changes.
    assert.deepEqual(jsonOf(ok(await end(agent, first.id))), ended)
    const path = `${AGENTS}/${did}/delegations/${second.id}/end`
    ok(await owner.post(path))
    await until(async () => (await reasonOf(second)) === 'delegation-ended')
    assert.equal(await reasonOf(direct), null)
    const events = await eventsOf(did)
    assert.deepEqual(
      events.map(([type, { id, by }]) => [type, id, by]),
      [
        ['agent.delegation_created', first.id, undefined],
        ['agent.delegation_created', second.id, undefined],
        ['agent.delegation_ended', first.id, 'agent'],
        ['agent.delegation_ended', second.id, 'owner'],
      ],
    )
    assert.ok(!JSON.stringify(events).includes('first'), 'labels are for the owner only')
    assert.equal(await agents.notificationsOf(owner), 0)
  })

  async function eventsOf(did: string): Promise<[string, { id: string; by?: string }][]> {
    const rows = await service.operator.db.read
      .selectFrom('events')
      .select(['type', 'payload'])
      .where('tail', '=', did.slice(-24))
      .where('type', 'in', ['agent.delegation_created', 'agent.delegation_ended'])
      .orderBy('seq')
      .execute()
    return rows.map(({ type, payload }) => [type, JSON.parse(payload)])
  }

  test('is created by the key of an agent that may delegate only', async () => {
    const agent = await agents.claimed(1)
    for (const label of ['', 'x'.repeat(65), 'a\u202eb', 7, null]) {
      assertRefused(await create(agent, label), 400, 'VALIDATION_ERROR')
    }
    const path = `/api/v1/agent/${agent.did}/delegations`
    assertRefused(await post(service, path, { label: 'x' }), 401, 'UNAUTHENTICATED')
    assertRefused(await create({ ...agent, key: newKey() }), 401, 'INVALID_SIGNATURE')
    const other = await agents.claimed(1)
    const foreign = { ...other, did: agent.did }
    assertRefused(await create(foreign), 401, 'INVALID_SIGNATURE')
    const shallow = await agents.claimed()
    assertRefused(await create(shallow), 403, 'FORBIDDEN', /not allowed/)
    assertRefused(await end(agent, '0'.repeat(32)), 404, 'NOT_FOUND')
    const { id } = await group(other)
    assertRefused(await end(agent, id), 404, 'NOT_FOUND')
    assertRefused(await agent.owner.get(`${AGENTS}/${other.did}/delegations`), 404, 'NOT_FOUND')
    const theirs = `${AGENTS}/${other.did}/delegations/${id}/end`
    assertRefused(await agent.owner.post(theirs), 404, 'NOT_FOUND')
    assertRefused(
      await agent.owner.post(`${AGENTS}/${agent.did}/delegations/${id}/end`),
      404,
      'NOT_FOUND',
    )
    await setStatus(service, other.did, 'suspended')
    assertRefused(await create(other), 409, 'AGENT_NOT_ACTIVE')
    await suspendOwner({ db: service.operator.db, now: clock.now }, agent.owner.ownerId, null)
    assertRefused(await create(agent), 409, 'AGENT_NOT_ACTIVE')
  })

  test('follows the status of the agent, and ends with every change that ends chains', async () => {
    const paused = await agents.claimed(1)
    const kept = await group(paused)
    await setStatus(service, paused.did, 'suspended')
    await until(async () => (await reasonOf(kept)) === 'suspended')
    await setStatus(service, paused.did, 'active')
    await until(async () => (await reasonOf(kept)) === null)
    // Raising the depth leaves it as it is.
    await agents.allow(paused, 2)
    await agents.untilCertified(paused.did, 2)
    assert.equal(await reasonOf(kept), null)
    assert.equal((await listOf(paused)).length, 1)

    const changes: Record<string, (agent: DelegatingAgent) => Promise<unknown>> = {
      'end of all by the agent': (agent) => agents.endBy(agent),
      'end of all by the owner': (agent) => agents.end(agent),
      'lower depth': (agent) => agents.allow(agent, 1),
      'no depth': (agent) => agents.allow(agent, 0),
      rotation: ({ did, key }) =>
        rotateTo(service, did, { old: key, next: newKey(), sequence: 2 }, clock.signed),
      report: ({ did, key }) => reportWith(service, did, { old: key, sequence: 1 }, clock.signed),
      revocation: ({ did }) => setStatus(service, did, 'revoked'),
      'lost verification, and so a lower grade': async ({ owner }) => {
        const { verifications } = jsonOf<{ verifications: { provider: string }[] }>(
          await owner.get('/api/identity'),
        )
        const provider = verifications[0]?.provider
        assert.equal((await owner.send('DELETE', `/api/identity/${provider}`)).status, 204)
      },
    }
    for (const [name, change] of Object.entries(changes)) {
      const agent = await agents.claimed(2)
      // Without a current entry, too.
      const ending = await group(agent)
      assert.equal(await reasonOf(ending), null, name)
      await change(agent)
      await until(async () => (await reasonOf(ending)) !== null)
      assert.deepEqual(await listOf(agent), [], name)
      const [row] = await service.operator.db.read
        .selectFrom('delegations')
        .select(['ended_by'])
        .where('id', '=', ending.id)
        .execute()
      assert.equal(row?.ended_by, 'service', name)
    }
  })

  test('100 of an agent at the same time, then 409 until one ends or expires', async () => {
    const agent = await agents.claimed(1)
    const created: Answer[] = []
    // An agent may use so many nonces in a minute only.
    for (const count of [50, 45, 15]) {
      clock.advance(0.05)
      created.push(...(await Promise.all(Array.from({ length: count }, () => create(agent)))))
    }
    const [first, ...others] = created.filter(({ status }) => status === 201)
    assert.equal(others.length + 1, MAX_DELEGATION_GROUPS)
    assertRefused(await create(agent), 409, 'CONFLICT', /100 groups/)
    ok(await end(agent, jsonOf(first as Answer).id as string))
    assert.equal((await create(agent)).status, 201)
    assertRefused(await create(agent), 409, 'CONFLICT')
  })

  test('200 in an hour, then 429', async () => {
    const agent = await agents.claimed(1)
    const { id } = await group(agent)
    ok(await end(agent, id))
    await service.operator.db.write(async ({ db }) => {
      const created = await db
        .selectFrom('delegations')
        .selectAll()
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
      const others = Array.from({ length: 198 }, (_, n) => ({ ...created, id: `${id}-${n}` }))
      await db.insertInto('delegations').values(others).execute()
    })
    assert.equal((await create(agent)).status, 201)
    const refused = await create(agent)
    assertRefused(refused, 429, 'RATE_LIMITED', /200 groups/)
    assert.equal(refused.headers.get('retry-after'), '3600')
    clock.advance(1.01)
    assert.equal((await create(agent)).status, 201)
  })

  test('an API key with the scope ends and lists it, and the owner is notified', async () => {
    const agent = await agents.claimed(1)
    const { id } = await group(agent, 'batch 7')
    const key = async (scopes: string[]) => {
      const owner = await signInBy(service, agent.owner.ownerId, clock.now)
      const created = await owner.post('/api/account/api-keys', { name: 'k', scopes })
      return jsonOf<{ secret: string }>(created).secret
    }
    const send = async (method: string, path: string, scopes: string[]) =>
      fetch(`${service.url}${AGENTS}/${agent.did}/delegations${path}`, {
        method,
        headers: {
          authorization: `Bearer ${await key(scopes)}`,
          'content-type': 'application/json',
        },
        ...(method === 'POST' && { body: '{}' }),
      })
    assert.equal((await send('GET', '', ['agents:read'])).status, 200)
    assert.equal((await send('POST', `/${id}/end`, ['agents:read'])).status, 403)
    assert.equal((await send('POST', `/${id}/end`, ['agents:status'])).status, 200)
    assert.equal(await agents.notificationsOf(agent.owner), 1)
    const { notifications } = jsonOf<{ notifications: { title: string; text: string }[] }>(
      await agent.owner.get('/api/account/notifications'),
    )
    assert.ok(notifications.some(({ text }) => text.includes('“batch 7”')))
  })

  test('is deleted 24 hours after it expires', async () => {
    const agent = await agents.claimed(1)
    const tail = agent.did.slice(-24)
    await group(agent)
    assert.equal(await countOf('delegations', tail), 1)
    clock.advance(47)
    assert.deepEqual(await listOf(agent), [], 'it has expired')
    assert.equal(await countOf('delegations', tail), 1)
    clock.advance(1.1)
    await until(async () => (await countOf('delegations', tail)) === 0)
    await until(async () => (await countOf('jobs', tail)) === 0)
  })
})
