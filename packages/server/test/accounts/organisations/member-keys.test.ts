import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import {
  API_KEY_SCOPES,
  type ApiKeyScope,
  type ApiKeys,
  type CreatedApiKey,
  includesRole,
  MAX_API_KEYS,
  MAX_ORGANISATION_API_KEYS,
  ROLES,
} from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { createOrganisation } from '../../../../../test/support/organisations.ts'
import {
  OPERATIONS_OF_SCOPES,
  ownerOperations,
  sendOperation,
} from '../../../../../test/support/owner-operations.ts'
import { startTestService } from '../../../../../test/support/service.ts'
import type { SignedInOwner } from '../../../../../test/support/signed-in.ts'
import { LEAST_ROLES } from '../../../src/accounts/owners/roles.ts'

const KEYS = '/api/account/api-keys'

async function createKey(
  owner: SignedInOwner,
  scopes: readonly ApiKeyScope[],
): Promise<CreatedApiKey> {
  const created = await owner.post(KEYS, { name: 'CI', scopes })
  assert.equal(created.status, 201, created.text)
  return jsonOf<CreatedApiKey>(created)
}

test('a key of an organisation admits what both its scopes and the present role of its maker admit', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const maker = await acme.addMember('grace', 'manager')
  const keys = new Map<ApiKeyScope, Record<'only' | 'others', string>>()
  for (const scope of API_KEY_SCOPES) {
    const others = API_KEY_SCOPES.filter((each) => each !== scope)
    // Of another member, since one has 20 at most.
    const [only, rest] = [await createKey(maker, [scope]), await createKey(acme.admin, others)]
    keys.set(scope, { only: only.secret, others: rest.secret })
  }
  const operations = await ownerOperations(service)
  const byId = new Map(operations.map((each) => [each.operation.operationId, each]))
  for (const role of ROLES) {
    await service.operator.db.write((tx) =>
      tx.db.updateTable('memberships').set({ role }).where('id', '=', maker.membership).execute(),
    )
    for (const [scope, { only, others }] of keys) {
      for (const operationId of OPERATIONS_OF_SCOPES[scope]) {
        const operation = byId.get(operationId)
        assert.ok(operation !== undefined, operationId)
        const send = (key: string) =>
          sendOperation(service, operation, { authorization: `Bearer ${key}` })
        const { status, text } = await send(only)
        const isRefused = status === 403 && text.includes('at least the role')
        const least = LEAST_ROLES[operationId]
        const what = `${operationId} by a key of a ${role}: ${text}`
        assert.equal(!isRefused, least !== undefined && includesRole(role, least), what)
        const other = await send(others)
        assert.equal(other.status, 403, what)
        assert.match(other.text, /scope/, what)
      }
    }
  }
})

test('a member has 20 keys, an organisation 100, and their list tells who made each', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const [grace, heidi] = [
    await acme.addMember('grace', 'manager'),
    await acme.addMember('heidi', 'manager'),
  ]
  const own = await createKey(grace.self, ['agents:read'])
  assert.equal('createdBy' in own, false)
  for (let i = 0; i < MAX_API_KEYS; i++) {
    const created = await createKey(grace, ['agents:read'])
    assert.deepEqual(created.createdBy, { id: grace.membership, displayName: 'Owner grace' })
  }
  const body = { name: 'CI', scopes: ['agents:read'] }
  assertRefused(await grace.post(KEYS, body), 409, 'CONFLICT', /You have 20/)
  await createKey(heidi, ['agents:read'])
  await createKey(grace.self, ['agents:read'])
  const { apiKeys } = jsonOf<ApiKeys>(await acme.admin.get(KEYS))
  const makers = apiKeys.map(({ createdBy }) => createdBy?.displayName)
  assert.deepEqual(makers.slice(0, 2), ['Owner heidi', 'Owner grace'])
  const { apiKeys: hers } = jsonOf<ApiKeys>(await grace.self.get(KEYS))
  assert.ok(hers.length === 2 && hers.every((each) => !('createdBy' in each)))

  const others = await Promise.all(
    ['a', 'b', 'c', 'd'].map((name) => acme.addMember(`maker-${name}`, 'manager')),
  )
  const present = apiKeys.length
  await service.operator.db.write(async (tx) => {
    for (let i = present; i < MAX_ORGANISATION_API_KEYS; i++) {
      const key = {
        hash: randomBytes(32),
        id: `key-${i}`,
        owner_id: acme.id,
        name: 'CI',
        scopes: 'agents:read',
        last_four: '0000',
        created_by: others[i % others.length]?.membership as string,
        created_at: Date.now(),
        last_used_at: null,
        expires_at: Date.now() + 1000,
      }
      await tx.db.insertInto('api_keys').values(key).execute()
    }
  })
  assertRefused(await heidi.post(KEYS, body), 409, 'CONFLICT', /has 100/)
  assert.equal(jsonOf<ApiKeys>(await acme.admin.get(KEYS)).apiKeys.length, 100)
})
