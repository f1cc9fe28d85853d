import assert from 'node:assert/strict'
import type {
  CreatedInvitation,
  Members,
  Notifications,
  OwnInvitations,
  Role,
} from '@countersign/protocol'
import { type Answer, jsonOf } from '../../../../../test/support/answer.ts'
import type { Member } from '../../../../../test/support/organisations.ts'
import type { SignedInOwner } from '../../../../../test/support/signed-in.ts'

export const MEMBERS = '/api/account/members'
export const INVITATIONS = '/api/account/invitations'

export type Target = { readonly email: string } | { readonly username: string }

/** Invites somebody. @returns the id of the invitation */
export async function invite(admin: Member, target: Target, role: Role): Promise<string> {
  const answer = await admin.post(INVITATIONS, { ...target, role })
  assert.equal(answer.status, 201, answer.text)
  return jsonOf<CreatedInvitation>(answer).id
}

export function accept(person: SignedInOwner, id: string, role: Role): Promise<Answer> {
  return person.post(`/api/invitations/${id}/accept`, { role })
}

/** The open invitations to a person: ids. */
export async function invitationsTo(person: SignedInOwner): Promise<string[]> {
  const { invitations } = jsonOf<OwnInvitations>(await person.get('/api/invitations'))
  return invitations.map(({ id }) => id)
}

/** The roles in an organisation by username. */
export async function rolesIn(member: Member): Promise<Record<string, Role>> {
  const { members } = jsonOf<Members>(await member.get(MEMBERS))
  return Object.fromEntries(members.map(({ username, role }) => [username, role]))
}

export function setRole(admin: Member, { membership }: Member, role: Role): Promise<Answer> {
  return admin.send('PATCH', `${MEMBERS}/${membership}`, { role })
}

export function remove(admin: Member, { membership }: Member): Promise<Answer> {
  return admin.send('DELETE', `${MEMBERS}/${membership}`)
}

/** The titles and texts of somebody's notifications of a kind, newest first. */
export async function notificationsOf(
  owner: Pick<SignedInOwner, 'get'>,
  kind: string,
): Promise<string[]> {
  const answer = await owner.get('/api/account/notifications')
  const { notifications } = jsonOf<Notifications>(answer)
  return notifications
    .filter((each) => each.kind === kind)
    .map(({ title, text }) => `${title}. ${text}`)
}
