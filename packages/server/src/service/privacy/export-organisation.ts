import type {
  ExportedMemberships,
  ExportedOrganisation,
  ExportedTransfers,
  Tail,
} from '@countersign/protocol'
import { didOfAgent, type Site } from '../../base/site.ts'
import { timestamp, timestampOrNull } from '../../base/timestamp.ts'
import type { Db, OwnerRow } from '../../database/database.ts'
import type { MemberActionRow, MembershipRow } from '../../database/schema/organisation-rows.ts'
import {
  actionsOfMember,
  agentsOfTransfers,
  membershipsOfPerson,
  readOrganisationRecords,
  transfersOf,
} from './organisation-data-table.ts'

/** Without a row of settings: see `OrganisationSettingsRow`. */
const SUSPEND_AFTER_DAYS = 14

/** What only organisations have, without secrets. @returns null for a person */
export async function exportOrganisation(
  db: Db,
  { id, kind, public_id }: OwnerRow,
): Promise<ExportedOrganisation | null> {
  if (kind !== 'organisation') return null
  const records = await readOrganisationRecords(db, id)
  const { settings, domain, sso } = records
  return {
    id: public_id as string,
    members: records.members.map((each) => ({
      ...describeMembership(each),
      displayName: each.display_name,
    })),
    invitations: records.invitations.map((each) => ({
      id: each.id,
      email: each.email,
      username: each.username,
      role: each.role,
      invitedBy: each.invited_by,
      createdAt: timestamp(each.created_at),
      expiresAt: timestamp(each.expires_at),
    })),
    suspendWithoutResponsibleAfterDays:
      settings === undefined ? SUSPEND_AFTER_DAYS : settings.suspend_after_days,
    domain: domain
      ? {
          domain: domain.domain,
          token: domain.token,
          tokenExpiresAt: timestamp(domain.token_expires_at),
          provenAt: timestampOrNull(domain.proven_at),
        }
      : null,
    sso: sso
      ? {
          id: sso.id,
          issuer: sso.issuer,
          clientId: sso.client_id,
          hasSecret: sso.sealed_secret !== null,
          groupClaim: sso.group_claim,
          roleMap: JSON.parse(sso.role_map) as Record<string, string>,
          subjectClaim: sso.subject_claim,
          createdAt: timestamp(sso.created_at),
          updatedAt: timestamp(sso.updated_at),
        }
      : null,
    scimTokens: records.tokens.map((each) => ({
      id: each.id,
      createdBy: each.created_by,
      createdAt: timestamp(each.created_at),
      expiresAt: timestamp(each.expires_at),
      lastUsedAt: timestampOrNull(each.last_used_at),
    })),
    scimUsers: records.users.map((each) => ({
      id: each.id,
      externalId: each.external_id,
      userName: each.user_name,
      displayName: each.display_name,
      active: each.active === 1,
      hasSignedIn: each.person_id !== null,
      createdAt: timestamp(each.created_at),
      updatedAt: timestamp(each.updated_at),
    })),
    actions: records.actions.map((each) => ({ member: each.membership, ...describeAction(each) })),
  }
}

/** The memberships of a person, ended ones too, each with what the person did by it. */
export async function exportMemberships(db: Db, personId: number): Promise<ExportedMemberships> {
  const memberships = await membershipsOfPerson(db, personId)
  return Promise.all(
    memberships.map(async (each) => ({
      ...describeMembership(each),
      organisation: each.username,
      actions: (await actionsOfMember(db, each.id)).map(describeAction),
    })),
  )
}

function describeMembership(row: MembershipRow) {
  return {
    id: row.id,
    role: row.role,
    roleSince: timestamp(row.role_since),
    source: row.source,
    since: timestamp(row.created_at),
    endedAt: timestampOrNull(row.ended_at),
    endReason: row.end_reason,
  }
}

function describeAction({ operation, request, api_key, at }: MemberActionRow) {
  return { operation, request, apiKey: api_key, at: timestamp(at) }
}

/** The transfers that an owner sent or received. Who acted for the other owner is left out. */
export async function exportTransfers(
  db: Db,
  site: Site,
  ownerId: number,
): Promise<ExportedTransfers> {
  const transfers = await transfersOf(db, ownerId)
  const ids = transfers.map(({ id }) => id)
  const agents = Map.groupBy(await agentsOfTransfers(db, ids), (row) => row.transfer_id)
  return transfers.map((each) => ({
    id: each.id,
    state: each.state,
    from: each.from_deleted_at === null ? each.from_username : null,
    to: each.to_deleted_at === null ? each.to_username : null,
    agents: (agents.get(each.id) ?? []).map(({ tail }) => didOfAgent(site, tail as Tail)),
    startedBy: each.from_owner === ownerId ? each.started_by : null,
    acceptedBy: each.to_owner === ownerId ? each.accepted_by : null,
    failure: each.failure,
    createdAt: timestamp(each.created_at),
    expiresAt: timestamp(each.expires_at),
    acceptedAt: timestampOrNull(each.accepted_at),
    effectiveAt: timestampOrNull(each.effective_at),
    endedAt: timestampOrNull(each.ended_at),
  }))
}
