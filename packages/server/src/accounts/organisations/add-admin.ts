import { CodedError } from '@countersign/protocol'
import type { JobRow, OwnerRow, Tx } from '../../database/database.ts'
import { cancelJob, jobById, scheduleJob } from '../../database/jobs/job-table.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { recordAccountActivity } from '../account-activity-table.ts'
import { appendNotification } from '../notifications/notify-owner.ts'
import { ownerById } from '../owner-table.ts'
import { insertMembership, liveMembershipIn, membersOf } from './membership-table.ts'
import { notifyOfMember } from './notify-of-member.ts'
import { newMembershipId } from './organisations.ts'
import { setRole } from './set-role.ts'

/** The kind of job that makes a person an admin, because the operator says so. Its subject: `<organisation> <person>`, ids. */
export const ADD_ADMIN = 'add-admin'

const jobIdOf = (orgId: number, personId: number) => `${ADD_ADMIN}:${orgId}:${personId}`

/**
 * Makes a person an admin of an organisation after a delay, in which its members can object: the operator may have been
 * deceived. Notifies the organisation, each member and the person.
 * @param at now, and `effectiveAt` when it takes effect, in milliseconds since the Unix epoch
 * @throws CodedError CONFLICT if the person is an admin already, VALIDATION_ERROR if it is no person
 */
export async function announceAdmin(
  tx: Tx,
  organisation: OwnerRow,
  person: OwnerRow,
  { at, effectiveAt }: { readonly at: number; readonly effectiveAt: number },
): Promise<void> {
  if (person.kind !== 'person') {
    throw new CodedError('VALIDATION_ERROR', 'Only a person with an account can be an admin.')
  }
  const { id: orgId } = organisation
  if ((await liveMembershipIn(tx.db, orgId, person.id))?.role === 'admin') {
    throw new CodedError('CONFLICT', `${person.username} is an admin of it already.`)
  }
  const subject = `${orgId} ${person.id}`
  const job = { id: jobIdOf(orgId, person.id), kind: ADD_ADMIN, run_at: effectiveAt, subject }
  await scheduleJob(tx, job)
  const members = (await membersOf(tx.db, orgId)).flatMap(({ person_id }) => person_id ?? [])
  const { username, display_name } = organisation
  const about = { change: 'admin_announced', username: person.username, effectiveAt }
  await notify(tx, orgId, about, at)
  for (const id of new Set([...members, person.id])) {
    await notify(tx, id, { ...about, organisation: username, organisationName: display_name }, at)
  }
}

/** @throws CodedError NOT_FOUND if none is announced */
export async function cancelAdmin(tx: Tx, orgId: number, personId: number): Promise<void> {
  const id = jobIdOf(orgId, personId)
  if ((await jobById(tx.db, id)) === undefined) {
    throw new CodedError('NOT_FOUND', 'Nobody is about to make this person an admin.')
  }
  await cancelJob(tx, id)
}

/** Makes a person an admin, as announced. Does nothing if the account or the organisation is gone. */
export async function addAnnouncedAdmin(
  tx: Tx,
  randomBytes: CoreDeps['randomBytes'],
  { subject }: Pick<JobRow, 'subject'>,
  at: number,
): Promise<void> {
  const [orgId = 0, personId = 0] = subject.split(' ').map(Number)
  const organisation = await ownerById(tx.db, orgId)
  const person = await ownerById(tx.db, personId)
  if (organisation === undefined || person === undefined) return
  const live = await liveMembershipIn(tx.db, orgId, personId)
  if (live !== undefined) {
    await setRole(tx, live, { role: 'admin', source: 'manual' }, at)
    return
  }
  const id = newMembershipId(randomBytes)
  const row = { id, org_id: orgId, person_id: personId, role: 'admin', source: 'manual' } as const
  const times = { role_since: at, created_at: at, ended_at: null, end_reason: null }
  await insertMembership(tx, { ...row, ...times })
  await notifyOfMember(tx, row, { change: 'joined', role: 'admin' }, at)
  const { username, display_name } = organisation
  await recordAccountActivity(tx, {
    ownerId: personId,
    type: 'owner.joined',
    details: { organisation: username, role: 'admin' },
    at,
  })
  const names = { organisation: username, organisationName: display_name }
  await notify(tx, personId, { change: 'admin_added', ...names }, at)
}

async function notify(
  tx: Tx,
  ownerId: number,
  details: { readonly change: string } & Readonly<Record<string, string | number>>,
  at: number,
): Promise<void> {
  const subject = `${details.change}:${details.organisation}:${details.username}:${at}`
  await appendNotification(tx, { ownerId, kind: 'member_changed', subject, details, at })
}
