import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { Role } from '@countersign/protocol'
import { verifyOwner } from '../../packages/server/src/accounts/identity/record-verification.ts'
import { insertMembership } from '../../packages/server/src/accounts/organisations/membership-table.ts'
import { newMembershipId } from '../../packages/server/src/accounts/organisations/organisations.ts'
import { ownerByUsername } from '../../packages/server/src/accounts/owner-table.ts'
import type { OwnerRow } from '../../packages/server/src/database/database.ts'
import type { Answer } from './answer.ts'
import type { TestService } from './service.ts'
import { type SignedInOwner, signIn } from './signed-in.ts'

/** An organisation, created over HTTP by its first admin. */
export interface TestOrganisation {
  readonly id: number
  readonly username: string
  readonly admin: Member
  /** Verifies the organisation in person. */
  verify(): Promise<void>
  /** Adds a verified person as a member. @param since when they got the role, in milliseconds since 1970 */
  addMember(username: string, role: Role, since?: number): Promise<Member>
  /** Makes a person a member. @param since when they got the role, in milliseconds since 1970 */
  join(personId: number, role: Role, since?: number): Promise<void>
}

/** A person who acts for an organisation. */
export interface Member extends SignedInOwner {
  /** The id of their membership. */
  readonly membership: string
  /** The same person, for their own account. */
  readonly self: SignedInOwner
}

/** A browser that names an organisation in each request. */
export function actingFor(self: SignedInOwner, organisation: string): SignedInOwner {
  const send = (method: string, target: string, body?: unknown): Promise<Answer> => {
    const separator = target.includes('?') ? '&' : '?'
    return self.send(method, `${target}${separator}organisation=${organisation}`, body)
  }
  return {
    ...self,
    send,
    get: (target) => send('GET', target),
    post: (target, body = {}) => send('POST', target, body),
  }
}

async function memberOf(
  service: TestService,
  self: SignedInOwner,
  { id, username }: Pick<OwnerRow, 'id' | 'username'>,
): Promise<Member> {
  const row = await service.operator.db.read
    .selectFrom('memberships')
    .select('id')
    .where('org_id', '=', id)
    .where('person_id', '=', self.ownerId)
    .where('ended_at', 'is', null)
    .executeTakeFirstOrThrow()
  return { ...actingFor(self, username), membership: row.id, self }
}

/** Creates an organisation whose first admin is a new verified person, `<username>-admin`. */
export async function createOrganisation(
  service: TestService,
  username = 'acme',
): Promise<TestOrganisation> {
  const self = await signIn(service, await service.operator.addVerifiedOwner(`${username}-admin`))
  const created = await self.post('/api/organisations', { username, displayName: 'Acme' })
  assert.equal(created.status, 201, created.text)
  const { db } = service.operator
  const row = (await ownerByUsername(db.read, username)) as OwnerRow
  const join = (personId: number, role: Role, since = Date.now()) =>
    db.write((tx) =>
      insertMembership(tx, {
        id: newMembershipId(randomBytes),
        org_id: row.id,
        person_id: personId,
        role,
        role_since: since,
        source: 'manual',
        created_at: since,
        ended_at: null,
        end_reason: null,
      }),
    )
  return {
    id: row.id,
    username,
    admin: await memberOf(service, self, row),
    async verify() {
      const subject = { provider: 'in-person', issuer: 'host', subject: `organisation ${row.id}` }
      const verified = { ...subject, assurance: 'substantial', expiresAt: null } as const
      await verifyOwner({ ...service.operator, now: Date.now }, row.id, verified)
    },
    async addMember(name, role, since) {
      const person = await signIn(service, await service.operator.addVerifiedOwner(name))
      await join(person.ownerId, role, since)
      return memberOf(service, person, row)
    },
    join,
  }
}
