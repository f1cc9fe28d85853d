import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonOf } from '../../../../../../test/support/answer.ts'
import { createOrganisation } from '../../../../../../test/support/organisations.ts'
import { assertScimRefused, connectDirectory, scimOf } from '../../../../../../test/support/scim.ts'
import { claimAgent, startTestService } from '../../../../../../test/support/service.ts'

test('a change that runs against active false is committed before it, or refused with nothing written', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  await acme.verify()
  const directory = await connectDirectory(service, acme)
  const manager = await acme.addMember('grace', 'manager')
  const id = await directory.addLinked(manager)
  const did = await claimAgent(service, acme.id)
  const statuses: number[] = []
  const change = async (i: number) => {
    const { status } =
      i % 2 === 0
        ? await manager.post('/api/agents/token')
        : await manager.send('PATCH', `/api/account/agents/${did}`, { displayName: `Name ${i}` })
    statuses.push(status)
  }
  const before = Array.from({ length: 20 }, (_, i) => change(i))
  const ending = directory.deactivate(id)
  const after = Array.from({ length: 20 }, (_, i) => change(20 + i))
  assert.equal((await ending).status, 200)
  await Promise.all([...before, ...after])
  const made = statuses.filter((status) => status < 300).length
  assert.ok(
    statuses.every((status) => status < 300 || status === 404 || status === 403),
    String(statuses),
  )
  const { db } = service.operator
  const { ended_at } = await db.read
    .selectFrom('memberships')
    .select('ended_at')
    .where('id', '=', manager.membership)
    .executeTakeFirstOrThrow()
  const actions = await db.read
    .selectFrom('member_actions')
    .select(['at', 'membership'])
    .where('membership', '=', manager.membership)
    .execute()
  assert.equal(actions.length, made)
  assert.ok(actions.every(({ at }) => at <= (ended_at as number)))
})

test('a token that is ended while its requests run changes nothing after that', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const directory = await connectDirectory(service, acme)
  const adding = (from: number) =>
    Array.from({ length: 15 }, (_, i) =>
      directory.send('POST', '/Users', { userName: `user-${from + i}` }),
    )
  const before = adding(0)
  const end = acme.admin.send('DELETE', `/api/account/scim-tokens/${directory.token.id}`)
  const after = adding(15)
  assert.equal((await end).status, 204)
  const answers = await Promise.all([...before, ...after])
  const added = answers.filter(({ status }) => status === 201)
  for (const answer of answers)
    if (answer.status !== 201) assertScimRefused(answer, 'UNAUTHENTICATED')
  const { db } = service.operator
  const rows = await db.read.selectFrom('scim_users').select('id').execute()
  assert.equal(rows.length, added.length)
})

test('of users with one name that are added at once, one is there', async (t) => {
  const service = await startTestService(t)
  const directory = await connectDirectory(service, await createOrganisation(service))
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, i) =>
      directory.send('POST', '/Users', { userName: i % 2 === 0 ? 'grace' : 'GRACE' }),
    ),
  )
  const refused = answers.filter(({ status }) => status !== 201)
  assert.equal(refused.length, 9)
  for (const answer of refused) assertScimRefused(answer, 'CONFLICT', 'uniqueness')
  assert.equal(scimOf(await directory.send('GET', '/Users')).totalResults, 1)
})

test('a directory has at most 5,000 users', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const directory = await connectDirectory(service, acme)
  await directory.add('first')
  await service.operator.db.write(async (tx) => {
    for (let from = 1; from < 5000; from += 500) {
      const rows = Array.from({ length: Math.min(500, 5000 - from) }, (_, i) => ({
        id: `su_${String(from + i)
          .replaceAll('0', 'A')
          .padStart(12, 'B')}`,
        org_id: acme.id,
        external_id: null,
        user_name: `user-${from + i}`,
        user_name_folded: `user-${from + i}`,
        display_name: null,
        active: 1 as const,
        person_id: null,
        created_at: 1,
        updated_at: 1,
      }))
      await tx.db.insertInto('scim_users').values(rows).execute()
    }
  })
  assertScimRefused(await directory.send('POST', '/Users', { userName: 'last' }), 'CONFLICT')
  const last = await directory.send('GET', '/Users?startIndex=4999')
  assert.equal(scimOf(last).itemsPerPage, 2)
  // Another organisation has room.
  const other = await connectDirectory(service, await createOrganisation(service, 'other'))
  await other.add('last')
})

test('a stream of the person closes', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const directory = await connectDirectory(service, acme)
  const member = await acme.addMember('grace', 'viewer')
  const id = await directory.addLinked(member)
  const stream = await fetch(`${service.url}/api/account/stream?organisation=acme`, {
    headers: { cookie: member.self.cookie },
  })
  assert.equal(stream.status, 200)
  const closed = (async () => {
    for await (const _ of stream.body as unknown as AsyncIterable<unknown>);
  })()
  assert.equal((await directory.deactivate(id)).status, 200)
  await closed
})

test('an API key of the person is refused at once', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const directory = await connectDirectory(service, acme)
  const member = await acme.addMember('grace', 'manager')
  const id = await directory.addLinked(member)
  const key = await member.post('/api/account/api-keys', { name: 'CI', scopes: ['agents:read'] })
  const { secret } = jsonOf<{ secret: string }>(key)
  const list = () =>
    fetch(`${service.url}/api/account/agents`, { headers: { authorization: `Bearer ${secret}` } })
  assert.equal((await list()).status, 200)
  assert.equal((await directory.deactivate(id)).status, 200)
  assert.equal((await list()).status, 401)
})
