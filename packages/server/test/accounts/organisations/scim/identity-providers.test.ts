import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { assertRefused } from '../../../../../../test/support/answer.ts'
import {
  createOrganisation,
  type Member,
  type TestOrganisation,
} from '../../../../../../test/support/organisations.ts'
import { connectDirectory, type Directory, scimOf } from '../../../../../../test/support/scim.ts'
import { startTestService, type TestService } from '../../../../../../test/support/service.ts'
import { linkScimUser } from '../../../../src/accounts/organisations/scim/scim-user-table.ts'

interface User {
  readonly id: string
  readonly userName: string
  readonly displayName?: string
  readonly externalId?: string
  readonly active: boolean
}

/** The bodies in the files are written after the public documentation of the identity providers, not captured from them. */
function bodyOf(name: string): object {
  return JSON.parse(readFileSync(join(import.meta.dirname, 'bodies', `${name}.json`), 'utf8'))
}

const AGENTS = '/api/account/agents'

/** Adds a user as an identity provider does: it looks for the user before. */
async function provision(directory: Directory, name: string): Promise<User> {
  const body = bodyOf(name) as User
  const filter = encodeURIComponent(`userName eq "${body.userName}"`)
  const before = await directory.send('GET', `/Users?filter=${filter}&startIndex=1&count=100`)
  assert.equal(scimOf(before).totalResults, 0)
  const created = await directory.send('POST', '/Users', body)
  assert.equal(created.status, 201, created.text)
  const user = scimOf<User>(created)
  assert.deepEqual(
    [user.userName, user.displayName, user.externalId, user.active],
    [body.userName, body.displayName, body.externalId, true],
  )
  return user
}

/** Links a new member to a user, which is what a sign-in does. */
async function memberFor(
  { operator }: TestService,
  acme: TestOrganisation,
  username: string,
  { id }: User,
): Promise<Member> {
  const member = await acme.addMember(username, 'manager')
  assert.ok(await operator.db.write((tx) => linkScimUser(tx, id, member.self.ownerId)))
  assert.equal((await member.get(AGENTS)).status, 200)
  return member
}

test('Entra ID adds, changes, disables and enables a user', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const directory = await connectDirectory(service, acme)
  const user = await provision(directory, 'entra-create')
  const patch = async (name: string) => {
    const answer = await directory.send('PATCH', `/Users/${user.id}`, bodyOf(name))
    assert.equal(answer.status, 200, `${name}: ${answer.text}`)
    return scimOf<User>(answer)
  }
  assert.equal((await patch('entra-update')).displayName, 'Rear Admiral Hopper')
  assert.equal((await patch('entra-rename')).userName, 'hopper@contoso.example')
  assert.equal((await patch('entra-without-path')).displayName, 'G. Hopper')
  for (const [username, disable] of [
    ['grace', 'entra-disable'],
    ['grace-2', 'entra-disable-compliant'],
  ] as const) {
    const member = await memberFor(service, acme, username, user)
    assert.equal((await patch(disable)).active, false)
    assertRefused(await member.get(AGENTS), 404, 'NOT_FOUND')
    assert.equal((await patch('entra-enable')).active, true)
    assertRefused(await member.get(AGENTS), 404, 'NOT_FOUND')
    // Of the next round: another person has never had this user.
    await service.operator.db.write((tx) =>
      tx.db.updateTable('scim_users').set({ person_id: null }).where('id', '=', user.id).execute(),
    )
  }
})

test('Okta adds, replaces, disables and enables a user', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const directory = await connectDirectory(service, acme)
  const user = await provision(directory, 'okta-create')
  const url = `/Users/${user.id}`
  const member = await memberFor(service, acme, 'linus', user)
  const replaced = await directory.send('PUT', url, bodyOf('okta-replace'))
  assert.equal(scimOf<User>(replaced).displayName, 'L. Torvalds')
  assert.equal((await member.get(AGENTS)).status, 200)
  const disabled = await directory.send('PATCH', url, bodyOf('okta-disable'))
  assert.equal(scimOf<User>(disabled).active, false)
  assertRefused(await member.get(AGENTS), 404, 'NOT_FOUND')
  const enabled = await directory.send('PATCH', url, bodyOf('okta-enable'))
  assert.equal(scimOf<User>(enabled).active, true)
  assertRefused(await member.get(AGENTS), 404, 'NOT_FOUND')
  const again = await directory.send('PUT', url, bodyOf('okta-disable-replace'))
  assert.equal(scimOf<User>(again).active, false)
})
