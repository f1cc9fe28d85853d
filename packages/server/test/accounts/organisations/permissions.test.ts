import assert from 'node:assert/strict'
import { test } from 'node:test'
import { includesRole, ROLES, type SessionState } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask, post } from '../../../../../test/support/ask.ts'
import { createOrganisation } from '../../../../../test/support/organisations.ts'
import {
  allOwnerOperations,
  headersOf,
  sendOperation,
} from '../../../../../test/support/owner-operations.ts'
import { claimAgent, claimBody, startTestService } from '../../../../../test/support/service.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'
import { signInNewcomer } from '../../../../../test/support/verify-identity.ts'
import { endMembership } from '../../../src/accounts/organisations/end-membership.ts'
import { LEAST_ROLES } from '../../../src/accounts/owners/roles.ts'
import { reactivateOwner, suspendOwner } from '../../../src/agents/manage/suspend-owner.ts'

const AGENTS = '/api/account/agents'

/** The parameter is a component that operations share. */
function isOrganisation({ $ref = '' }: { readonly $ref?: string }): boolean {
  return $ref.endsWith('/Organisation')
}

/** Without the request id, by which answers differ. */
function withoutId(text: string): string {
  return text.replace(/req_[0-9a-f]{24}/, '')
}

test('the table of roles has exactly the operations that take the parameter organisation', async (t) => {
  const service = await startTestService(t)
  const operations = await allOwnerOperations(service)
  const taking = operations
    .filter(({ operation }) => operation.parameters?.some(isOrganisation))
    .map(({ operation }) => operation.operationId)
  assert.deepEqual(taking.toSorted(), Object.keys(LEAST_ROLES).toSorted())
})

test('each role admits what the table says, in its own organisation and in no other', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service, 'acme')
  const other = await createOrganisation(service, 'other')
  const stranger = other.admin.self
  const members = new Map(
    await Promise.all(
      ROLES.map(async (role) => [role, (await acme.addMember(`a-${role}`, role)).self] as const),
    ),
  )
  const operations = await allOwnerOperations(service)
  assert.ok(operations.length > 80)
  for (const operation of operations) {
    const { operationId } = operation.operation
    const least = LEAST_ROLES[operationId]
    const ask = async (who: Parameters<typeof headersOf>[1], name: string) =>
      sendOperation(service, operation, headersOf(service, who), `?organisation=${name}`)
    // A provider sends it.
    if (operationId === 'identityWebhook') continue
    if (least === undefined) {
      const { status, text } = await ask(members.get('viewer') as typeof stranger, 'acme')
      assert.equal(status, 400, `${operationId}: ${text}`)
      continue
    }
    const foreign = await ask(stranger, 'acme')
    assert.equal(foreign.status, 404, `${operationId} of a stranger: ${foreign.text}`)
    const unknown = await ask(stranger, 'nobody')
    assert.equal(withoutId(foreign.text), withoutId(unknown.text), operationId)
    for (const [role, member] of members) {
      // An admin would delete the organisation, of which the others still ask.
      if (operationId === 'deleteAccount' && role === 'admin') continue
      const { status, text } = await ask(member, 'acme')
      const isRefused = status === 403 && text.includes('at least the role')
      assert.equal(!isRefused, includesRole(role, least), `${operationId} by ${role}: ${text}`)
      assert.notEqual(status, 401, operationId)
    }
  }
})

test('a member changes agents of the organisation, and not of their own account', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const responder = await acme.addMember('grace', 'responder')
  const own = await claimAgent(service, responder.ownerId)
  await acme.verify()
  const theirs = await claimAgent(service, acme.id)
  const listed = jsonOf<{ agents: { svcDid: string }[] }>(await responder.get(AGENTS))
  assert.deepEqual(
    listed.agents.map(({ svcDid }) => svcDid),
    [theirs],
  )
  assertRefused(await responder.post(`${AGENTS}/${own}/suspend`), 404, 'NOT_FOUND')
  assertRefused(await responder.self.post(`${AGENTS}/${theirs}/suspend`), 404, 'NOT_FOUND')
  assert.equal((await responder.post(`${AGENTS}/${theirs}/suspend`)).status, 200)
  const named = { displayName: 'Mine' }
  assertRefused(await responder.send('PATCH', `${AGENTS}/${theirs}`, named), 403, 'FORBIDDEN')

  const { db } = service.operator
  const actions = await db.read.selectFrom('member_actions').selectAll().execute()
  assert.deepEqual(
    actions.map(({ membership, operation }) => [membership, operation]),
    [[responder.membership, 'suspendAgent']],
  )
})

test('the session names the person, whom they act for, and their organisations', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const viewer = await acme.addMember('grace', 'viewer')
  const own = jsonOf<SessionState>(await viewer.self.get('/api/session'))
  assert.deepEqual(
    [own.owner?.username, own.person?.username, own.actingFor],
    ['grace', 'grace', null],
  )
  assert.deepEqual(own.organisations, [
    { username: 'acme', displayName: 'Acme', role: 'viewer', verified: false },
  ])
  const acting = jsonOf<SessionState>(await viewer.get('/api/session'))
  assert.deepEqual(
    [acting.owner?.username, acting.person?.username, acting.actingFor],
    ['acme', 'grace', 'acme'],
  )
})

test('a person whom the operator suspended acts for no organisation, and can again when it is lifted', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  await acme.verify()
  const grace = await acme.addMember('grace', 'manager')
  const did = await claimAgent(service, acme.id)
  const body = { name: 'CI', scopes: ['agents:read', 'agents:status'] }
  const { secret } = jsonOf<{ secret: string }>(await grace.post('/api/account/api-keys', body))
  const headers = { authorization: `Bearer ${secret}` }
  const deps = { db: service.operator.db, now: Date.now }
  await suspendOwner(deps, grace.ownerId, null)
  const refused = [
    grace.get(AGENTS),
    grace.get('/api/session'),
    grace.post(`${AGENTS}/${did}/suspend`),
    grace.send('DELETE', `/api/account/members/${grace.membership}`),
    ask(service, AGENTS, { headers }),
    ask(service, `${AGENTS}/${did}/suspend`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: '{}',
    }),
  ]
  for (const each of refused) assertRefused(await each, 403, 'FORBIDDEN', /suspended/)
  assert.equal((await grace.self.get(AGENTS)).status, 200)
  // The organisation and its agents are not suspended with a member.
  const shown = jsonOf(await acme.admin.get(`${AGENTS}/${did}`))
  assert.equal(shown.status, 'active')
  await reactivateOwner(deps, grace.ownerId)
  assert.equal((await grace.post(`${AGENTS}/${did}/suspend`)).status, 200)
})

test('the parameter twice, with an API key, or empty is refused', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const twice = await acme.admin.self.get(`${AGENTS}?organisation=acme&organisation=acme`)
  assertRefused(twice, 400, 'VALIDATION_ERROR')
  assertRefused(await acme.admin.self.get(`${AGENTS}?organisation=`), 400, 'VALIDATION_ERROR')
  const own = await acme.admin.self.get('/api/account/members')
  assertRefused(own, 400, 'VALIDATION_ERROR', /organisation/)
  const key = await acme.admin.post('/api/account/api-keys', {
    name: 'CI',
    scopes: ['agents:read'],
  })
  const { secret } = jsonOf<{ secret: string }>(key)
  const headers = { authorization: `Bearer ${secret}` }
  const listed = await fetch(`${service.url}${AGENTS}`, { headers })
  assert.equal(listed.status, 200)
  const named = await fetch(`${service.url}${AGENTS}?organisation=acme`, { headers })
  assert.equal(named.status, 400)
})

test('an API key may do what its maker may now, and ends with the membership', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  await acme.verify()
  const manager = await acme.addMember('grace', 'manager')
  const body = { name: 'CI', scopes: ['agents:read', 'agents:write', 'agents:status'] }
  const { secret } = jsonOf<{ secret: string }>(await manager.post('/api/account/api-keys', body))
  const did = await claimAgent(service, acme.id)
  const edit = () =>
    fetch(`${service.url}${AGENTS}/${did}`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ displayName: 'Buyer' }),
    })
  assert.equal((await edit()).status, 200)
  const { db } = service.operator
  await db.write((tx) =>
    tx.db
      .updateTable('memberships')
      .set({ role: 'responder' })
      .where('id', '=', manager.membership)
      .execute(),
  )
  assert.equal((await edit()).status, 403)
  const ended = await db.write((tx) => endMembership(tx, manager.membership, 'removed', Date.now()))
  assert.equal(ended?.apiKeysEnded, 1)
  assert.equal((await edit()).status, 401)
  assertRefused(await manager.get(AGENTS), 404, 'NOT_FOUND')
})

test('a change that began before the membership ended writes nothing after it', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  await acme.verify()
  const manager = await acme.addMember('grace', 'manager')
  const { db } = service.operator
  const statuses: number[] = []
  const changes = Array.from({ length: 60 }, async () => {
    const { status } = await manager.post('/api/agents/token')
    statuses.push(status)
  })
  await db.write((tx) => endMembership(tx, manager.membership, 'removed', Date.now()))
  await Promise.all(changes)
  assert.ok(
    statuses.every((status) => status === 201 || status === 404),
    String(statuses),
  )
  const row = await db.read
    .selectFrom('memberships')
    .select('ended_at')
    .where('id', '=', manager.membership)
    .executeTakeFirstOrThrow()
  const actions = await db.read.selectFrom('member_actions').selectAll().execute()
  assert.equal(actions.length, statuses.filter((status) => status === 201).length)
  assert.ok(actions.every(({ at }) => at <= (row.ended_at as number)))
})

test('only a verified person creates an organisation, after a recent sign-in', async (t) => {
  const service = await startTestService(t)
  const body = { username: 'acme', displayName: 'Acme' }
  const unverified = await signInNewcomer(service)
  assertRefused(await unverified.post('/api/organisations', body), 403, 'IDENTITY_REQUIRED')
  const grace = await service.operator.addVerifiedOwner('grace')
  const old = await signIn(service, grace, Date.now() - 11 * 60_000)
  assertRefused(await old.post('/api/organisations', body), 403, 'RECENT_SIGN_IN_REQUIRED')
  const recent = await signIn(service, grace)
  const taken = { ...body, username: 'grace' }
  assertRefused(await recent.post('/api/organisations', taken), 400, 'VALIDATION_ERROR', /taken/)
  for (let i = 0; i < 5; i++) {
    const created = await recent.post('/api/organisations', { ...body, username: `acme-${i}` })
    assert.equal(created.status, 201, created.text)
  }
  assertRefused(await recent.post('/api/organisations', body), 409, 'CONFLICT')
})

test('claim tokens of one member stay valid when another member issues some', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  await acme.verify()
  const manager = await acme.addMember('grace', 'manager')
  const issue = async (member: typeof manager) =>
    jsonOf<{ claimToken: string }>(await member.post('/api/agents/token')).claimToken
  const replaced = await issue(manager)
  const first = await issue(manager)
  const second = await issue(acme.admin)
  const claim = (token: string) => post(service, '/api/v1/claim', claimBody(token))
  assertRefused(await claim(replaced), 410, 'TOKEN_EXPIRED')
  assert.equal((await claim(first)).status, 200)
  assert.equal((await claim(second)).status, 200)
})
