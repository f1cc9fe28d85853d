import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused, jsonOf } from '../../../../../../test/support/answer.ts'
import { createOrganisation } from '../../../../../../test/support/organisations.ts'
import {
  askScim,
  assertScimRefused,
  connectDirectory,
  scimOf,
} from '../../../../../../test/support/scim.ts'
import { startTestService } from '../../../../../../test/support/service.ts'

const AGENTS = '/api/account/agents'

test('active false ends the membership of the linked person, and active true gives nothing back', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const directory = await connectDirectory(service, acme)
  const grace = await acme.addMember('grace', 'manager')
  const id = await directory.addLinked(grace)
  assert.equal((await grace.get(AGENTS)).status, 200)
  const ended = await directory.deactivate(id)
  assert.equal(ended.status, 200, ended.text)
  assert.equal(scimOf(ended).active, false)
  assertRefused(await grace.get(AGENTS), 404, 'NOT_FOUND')
  assert.equal((await grace.self.get(AGENTS)).status, 200)
  const shown = await directory.send('GET', `/Users/${id}`)
  assert.equal(scimOf(shown).active, false)

  const again = { Operations: [{ op: 'replace', path: 'active', value: true }] }
  assert.equal(scimOf(await directory.send('PATCH', `/Users/${id}`, again)).active, true)
  assertRefused(await grace.get(AGENTS), 404, 'NOT_FOUND')

  const { db } = service.operator
  const row = await db.read
    .selectFrom('memberships')
    .select(['end_reason'])
    .where('id', '=', grace.membership)
    .executeTakeFirstOrThrow()
  assert.equal(row.end_reason, 'scim')
  const actions = await db.read
    .selectFrom('member_actions')
    .select(['membership', 'api_key'])
    .where('operation', '=', 'changeScimUser')
    .execute()
  assert.deepEqual(
    actions.map((each) => [each.membership, each.api_key]),
    [[acme.admin.membership, directory.token.id]],
  )
})

test('DELETE and PUT with active false end it too, whatever its role', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const directory = await connectDirectory(service, acme)
  const grace = await acme.addMember('grace', 'admin')
  const linus = await acme.addMember('linus', 'viewer')
  const deleted = await directory.send('DELETE', `/Users/${await directory.addLinked(grace)}`)
  assert.equal(deleted.status, 204, deleted.text)
  assertRefused(await grace.get(AGENTS), 404, 'NOT_FOUND')
  const id = await directory.addLinked(linus)
  const replaced = await directory.send('PUT', `/Users/${id}`, {
    userName: 'linus',
    active: 'False',
  })
  assert.equal(replaced.status, 200, replaced.text)
  assertRefused(await linus.get(AGENTS), 404, 'NOT_FOUND')
})

test('the last emergency admin cannot be ended, and nothing is written', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const directory = await connectDirectory(service, acme)
  const id = await directory.addLinked(acme.admin)
  assertScimRefused(await directory.deactivate(id), 'CONFLICT')
  assertScimRefused(await directory.send('DELETE', `/Users/${id}`), 'CONFLICT')
  assert.equal(scimOf(await directory.send('GET', `/Users/${id}`)).active, true)
  assert.equal((await acme.admin.get(AGENTS)).status, 200)
})

test('users are added, found, replaced and deleted', async (t) => {
  const service = await startTestService(t)
  const directory = await connectDirectory(service, await createOrganisation(service))
  const created = await directory.send('POST', '/Users', {
    userName: 'Grace@example.com',
    externalId: 'g-1',
    displayName: 'Grace',
    emails: [{ value: 'grace@example.com', primary: true }],
  })
  assert.equal(created.status, 201, created.text)
  const user = scimOf<{ id: string; meta: { location: string } }>(created)
  assert.equal(created.headers.get('location'), user.meta.location)
  assert.equal(user.meta.location, `${directory.token.url}/Users/${user.id}`)
  assertScimRefused(
    await directory.send('POST', '/Users', { userName: 'gRACE@example.com' }),
    'CONFLICT',
    'uniqueness',
  )
  assertScimRefused(
    await directory.send('POST', '/Users', { userName: 'other', externalId: 'g-1' }),
    'CONFLICT',
    'uniqueness',
  )
  for (const filter of [
    'userName eq "grace@EXAMPLE.com"',
    'username EQ "grace@example.com"',
    'urn:ietf:params:scim:schemas:core:2.0:User:externalId eq "g-1"',
    `id eq "${user.id}"`,
  ]) {
    const found = await directory.send('GET', `/Users?filter=${encodeURIComponent(filter)}`)
    assert.deepEqual(scimOf<{ Resources: unknown[] }>(found).Resources, [user], filter)
  }
  const none = await directory.send('GET', `/Users?filter=${encodeURIComponent('id eq "\\u0000"')}`)
  assert.equal(scimOf(none).totalResults, 0)
  for (const filter of ['active eq true', 'userName co "g"', 'userName eq g', 'userName eq "a', ''])
    assertScimRefused(
      await directory.send('GET', `/Users?filter=${encodeURIComponent(filter)}`),
      'VALIDATION_ERROR',
      'invalidFilter',
    )
  const url = `/Users/${user.id}`
  const replaced = scimOf(await directory.send('PUT', url, { userName: 'grace' }))
  assert.deepEqual(
    [replaced.userName, replaced.displayName, replaced.externalId, replaced.active],
    ['grace', undefined, undefined, true],
  )
  const other = await directory.add('other')
  assertScimRefused(
    await directory.send('PUT', `/Users/${other}`, { userName: 'GRACE' }),
    'CONFLICT',
    'uniqueness',
  )
  await directory.deactivate(other)
  const stays = await directory.send('PUT', `/Users/${other}`, { userName: 'other' })
  assert.equal(scimOf(stays).active, false)
  assert.equal((await directory.send('DELETE', url)).status, 204)
  assertScimRefused(await directory.send('GET', url), 'NOT_FOUND')
  assertScimRefused(await directory.send('DELETE', url), 'NOT_FOUND')
})

test('lists have pages of at most 100 users', async (t) => {
  const service = await startTestService(t)
  const directory = await connectDirectory(service, await createOrganisation(service))
  for (let i = 0; i < 103; i++) await directory.add(`user-${i}`)
  const page = async (query: string) => {
    const answer = await directory.send('GET', `/Users?${query}`)
    const list = scimOf<Record<string, number> & { Resources: unknown[] }>(answer)
    return [list.totalResults, list.startIndex, list.itemsPerPage, list.Resources.length]
  }
  assert.deepEqual(await page(''), [103, 1, 100, 100])
  assert.deepEqual(await page('startIndex=101&count=1000'), [103, 101, 3, 3])
  assert.deepEqual(await page('startIndex=-5&count=2'), [103, 1, 2, 2])
  assert.deepEqual(await page('count=0'), [103, 1, 0, 0])
  assert.deepEqual(await page('count=-1'), [103, 1, 0, 0])
  assertScimRefused(await directory.send('GET', '/Users?count=x'), 'VALIDATION_ERROR')
})

test('a token needs single sign-on; there are two, and one that was ended is refused at once', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const tokens = '/api/account/scim-tokens'
  assertRefused(await acme.admin.post(tokens), 409, 'CONFLICT', /single sign-on/)
  const directory = await connectDirectory(service, acme)
  assert.match(directory.token.secret, /^svc-scim-[0-9a-f]{32}$/)
  assert.equal((await acme.admin.post(tokens)).status, 201)
  assertRefused(await acme.admin.post(tokens), 409, 'CONFLICT', /2 SCIM tokens/)
  assert.equal((await directory.send('GET', '/Users')).status, 200)
  const manager = await acme.addMember('grace', 'manager')
  assertRefused(await manager.get(tokens), 403, 'FORBIDDEN')
  const listed = jsonOf<{ tokens: { id: string; lastUsedAt: string | null }[] }>(
    await acme.admin.get(tokens),
  )
  assert.equal(listed.tokens.length, 2)
  assert.ok(!JSON.stringify(listed).includes('svc-scim-'))
  assert.ok(listed.tokens.find(({ id }) => id === directory.token.id)?.lastUsedAt)
  const own = `${tokens}/${directory.token.id}`
  assert.equal((await acme.admin.send('DELETE', own)).status, 204)
  assertRefused(await acme.admin.send('DELETE', own), 404, 'NOT_FOUND')
  assertScimRefused(await directory.send('GET', '/Users'), 'UNAUTHENTICATED')
  const { db } = service.operator
  const kinds = await db.read
    .selectFrom('notifications')
    .select('kind')
    .where('owner_id', '=', acme.id)
    .where('kind', '=', 'access_changed')
    .execute()
  assert.equal(kinds.length, 2)
})

test('a token expires after 365 days', async (t) => {
  let now = Date.now()
  const service = await startTestService(t, {}, () => now)
  const directory = await connectDirectory(service, await createOrganisation(service))
  now += 365 * 86_400_000 - 60_000
  assert.equal((await directory.send('GET', '/Users')).status, 200)
  now += 60_000
  assertScimRefused(await directory.send('GET', '/Users'), 'UNAUTHENTICATED')
})

test('a token knows no users of another organisation, is no API key, and no API key is one', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const a = await connectDirectory(service, acme)
  const b = await connectDirectory(service, await createOrganisation(service, 'other'))
  const id = await b.add('grace', { externalId: 'g' })
  const unknown = `su_${'1'.repeat(12)}`
  for (const [method, body] of [
    ['GET', undefined],
    ['PUT', { userName: 'x' }],
    ['PATCH', { Operations: [{ op: 'replace', path: 'active', value: false }] }],
    ['DELETE', undefined],
  ] as const) {
    const foreign = await a.send(method, `/Users/${id}`, body)
    assertScimRefused(foreign, 'NOT_FOUND')
    const text = (await a.send(method, `/Users/${unknown}`, body)).text
    const withoutId = (each: string) => each.replace(/req_[0-9a-f]{24}/, '')
    assert.equal(withoutId(foreign.text), withoutId(text))
  }
  const filter = encodeURIComponent('externalId eq "g"')
  assert.equal(scimOf(await a.send('GET', `/Users?filter=${filter}`)).totalResults, 0)
  assert.equal(scimOf(await a.send('GET', '/Users')).totalResults, 0)
  // The same name and external id are free in another organisation.
  await a.add('grace', { externalId: 'g' })
  assert.equal(scimOf(await b.send('GET', `/Users/${id}`)).active, true)

  const headers = { authorization: `Bearer ${a.token.secret}` }
  const asKey = await fetch(`${service.url}${AGENTS}`, { headers })
  assert.equal(asKey.status, 401)
  const key = await acme.admin.post('/api/account/api-keys', {
    name: 'CI',
    scopes: ['agents:read'],
  })
  const { secret } = jsonOf<{ secret: string }>(key)
  assertScimRefused(await askScim(service, secret, 'GET', '/Users'), 'UNAUTHENTICATED')
  // Nor does a cookie help.
  const byCookie = await fetch(`${service.url}/scim/v2/Users`, {
    headers: { cookie: acme.admin.cookie },
  })
  assert.equal(byCookie.status, 401)
})
