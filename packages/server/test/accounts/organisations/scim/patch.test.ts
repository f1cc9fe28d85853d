import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SCIM_URNS } from '@countersign/protocol'
import { assertRefused } from '../../../../../../test/support/answer.ts'
import { createOrganisation, type Member } from '../../../../../../test/support/organisations.ts'
import {
  assertScimRefused,
  connectDirectory,
  type Directory,
  scimOf,
} from '../../../../../../test/support/scim.ts'
import { startTestService } from '../../../../../../test/support/service.ts'

const AGENTS = '/api/account/agents'
const patch = (...Operations: unknown[]) => ({ schemas: [SCIM_URNS.patch], Operations })

/** Spellings that deactivate a user. */
const ENDING: readonly unknown[] = [
  { op: 'replace', path: 'active', value: false },
  { op: 'Replace', path: 'active', value: 'False' },
  { op: 'REPLACE', path: 'Active', value: 'false' },
  { op: 'Add', path: `${SCIM_URNS.user}:active`, value: 'False' },
  { op: 'add', path: SCIM_URNS.user.toUpperCase(), value: { ACTIVE: false } },
  { op: 'replace', value: { active: false } },
  { op: 'Replace', value: { [`${SCIM_URNS.user}:Active`]: 'False' } },
  { op: 'replace', value: { [SCIM_URNS.user]: { active: false } } },
  { Op: 'replace', Path: 'active', Value: false },
]

test('every spelling of active false ends the membership', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const directory = await connectDirectory(service, acme)
  for (const [i, operation] of ENDING.entries()) {
    const member = await acme.addMember(`grace-${i}`, 'manager')
    const id = await directory.addLinked(member)
    assert.equal((await member.get(AGENTS)).status, 200)
    const answer = await directory.send('PATCH', `/Users/${id}`, patch(operation))
    assert.equal(answer.status, 200, `${JSON.stringify(operation)}: ${answer.text}`)
    assert.equal(scimOf(answer).active, false)
    assertRefused(await member.get(AGENTS), 404, 'NOT_FOUND')
  }
})

/** Operations that are refused, with the type of the error. */
const REFUSED: readonly (readonly [string, unknown])[] = [
  ...[0, 1, null, 'FALSE', 'no', '', [], [false], { value: false }].map(
    (value) => ['invalidValue', { op: 'replace', path: 'active', value }] as const,
  ),
  ['invalidValue', { op: 'replace', path: 'active' }],
  ['invalidValue', { op: 'replace', value: { active: 0 } }],
  ['invalidValue', { op: 'replace', path: 'userName', value: '' }],
  ['invalidValue', { op: 'replace', path: 'userName', value: 'a\u0000b' }],
  ['invalidValue', { op: 'replace', path: 'displayName', value: 'a'.repeat(257) }],
  ['invalidValue', { op: 'replace', path: 'externalId', value: 7 }],
  ['invalidSyntax', { op: 'replace', value: false }],
  ['invalidSyntax', { op: 'replace', value: 'False' }],
  ['invalidSyntax', { op: 'replace', value: { active: true, Active: false } }],
  ['invalidSyntax', { op: 'replace', path: 'active', Path: 'title', value: false }],
  ['invalidSyntax', { op: 'move', path: 'active', value: false }],
  ['invalidSyntax', { path: 'active', value: false }],
  ['invalidSyntax', 'active'],
  ['invalidPath', { op: 'replace', path: ' active', value: false }],
  ['invalidPath', { op: 'replace', path: '', value: false }],
  ['invalidPath', { op: 'replace', path: 'active.value', value: false }],
  ['invalidPath', { op: 'replace', path: 'active[value eq true]', value: false }],
  ['invalidPath', { op: 'replace', path: `${SCIM_URNS.user}:active.value`, value: false }],
  ['invalidPath', { op: 'replace', path: 7, value: false }],
  ['mutability', { op: 'remove', path: 'active' }],
  ['mutability', { op: 'remove', path: `${SCIM_URNS.user}:userName` }],
  ['mutability', { op: 'replace', path: 'id', value: 'su_1' }],
  ['noTarget', { op: 'remove' }],
]

async function assertUnchanged(directory: Directory, member: Member, id: string): Promise<void> {
  const user = scimOf(await directory.send('GET', `/Users/${id}`))
  assert.deepEqual([user.active, user.displayName], [true, 'Grace'])
  assert.equal((await member.get(AGENTS)).status, 200)
}

test('an invalid operation is refused with its type, and nothing changes, also not by a valid one before it', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const directory = await connectDirectory(service, acme)
  const member = await acme.addMember('grace', 'manager')
  const id = await directory.addLinked(member, { displayName: 'Grace' })
  const url = `/Users/${id}`
  for (const [scimType, operation] of REFUSED) {
    assertScimRefused(
      await directory.send('PATCH', url, patch(operation)),
      'VALIDATION_ERROR',
      scimType,
    )
    const ending = { op: 'replace', path: 'active', value: false }
    const both = await directory.send('PATCH', url, patch(ending, operation))
    assertScimRefused(both, 'VALIDATION_ERROR', scimType)
  }
  await assertUnchanged(directory, member, id)
})

test('at most 100 operations, in well-formed JSON', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const directory = await connectDirectory(service, acme)
  const member = await acme.addMember('grace', 'manager')
  const id = await directory.addLinked(member, { displayName: 'Grace' })
  const url = `/Users/${id}`
  const ignored = { op: 'Replace', path: 'emails[type eq "work"].value', value: 'g@example.com' }
  const ending = { op: 'replace', path: 'active', value: false }
  const tooMany = patch(...Array(100).fill(ignored), ending)
  assertScimRefused(await directory.send('PATCH', url, tooMany), 'VALIDATION_ERROR', 'invalidValue')
  for (const body of [
    {},
    patch(),
    { Operations: ending },
    { Operations: [], operations: [ending] },
  ])
    assertScimRefused(await directory.send('PATCH', url, body), 'VALIDATION_ERROR', 'invalidSyntax')
  const text = JSON.stringify(patch(ending))
  for (const broken of [
    '[]',
    'null',
    '{',
    text.replace('"op"', '"op":"add","op"'),
    `\ufeff${text}`,
  ])
    assertScimRefused(await directory.send('PATCH', url, broken), 'VALIDATION_ERROR')
  assertScimRefused(await directory.send('PATCH', url, ' '.repeat(66_000)), 'PAYLOAD_TOO_LARGE')
  await assertUnchanged(directory, member, id)

  const most = await directory.send('PATCH', url, patch(...Array(99).fill(ignored), ending))
  assert.equal(scimOf(most).active, false, most.text)
})

test('a change that needs no link: attributes are set, cleared and ignored', async (t) => {
  const service = await startTestService(t)
  const directory = await connectDirectory(service, await createOrganisation(service))
  const id = await directory.add('grace', { externalId: 'g', displayName: 'Grace' })
  const changed = await directory.send(
    'PATCH',
    `/Users/${id}`,
    patch(
      { op: 'remove', path: 'displayName' },
      { op: 'replace', path: 'externalId', value: null },
      { op: 'remove', path: 'title' },
      { op: 'add', value: { name: { givenName: 'G' }, nickName: 'g', 'x-y_z': 1 } },
      { op: 'replace', path: 'urn:example:other:active', value: 'ignored' },
      { op: 'replace', path: 'userName', value: 'hopper' },
    ),
  )
  const { userName, displayName, externalId, active } = scimOf(changed)
  assert.deepEqual(
    [userName, displayName, externalId, active],
    ['hopper', undefined, undefined, true],
  )
})
