import { CodedError } from '@countersign/protocol'
import {
  liveMemberNames,
  liveMembershipById,
  type MemberNames,
} from '../../accounts/organisations/membership-table.ts'
import type { AgentRow, Db, Tx } from '../../database/database.ts'
import { followAgent } from './missing-responsible.ts'
import { NOBODY, setResponsible } from './responsible-table.ts'

/** Finds the responsible persons of agents, or of rules. @returns them by their memberships; without those who have left */
export function responsiblePersons(
  db: Db,
  agents: readonly { readonly responsible: string | null }[],
): Promise<MemberNames> {
  return liveMemberNames(db, [...new Set(agents.flatMap(({ responsible }) => responsible || []))])
}

/**
 * Makes a member responsible for an agent, or nobody.
 * @param membership null: nobody
 * @param isOrganisation whether a member of an organisation asks
 * @param at milliseconds since 1970
 * @throws CodedError VALIDATION_ERROR if the owner is a person, or there is no such member
 */
export async function changeResponsible(
  tx: Tx,
  { tail, owner_id: orgId, responsible: before }: AgentRow,
  membership: string | null,
  isOrganisation: boolean,
  at: number,
): Promise<void> {
  if (!isOrganisation) {
    throw new CodedError(
      'VALIDATION_ERROR',
      'Only agents of organisations have a responsible person. You are responsible for your own.',
    )
  }
  if (membership !== null) await assertMember(tx.db, orgId, membership)
  if ((membership ?? NOBODY) === before) return
  await setResponsible(tx, tail, membership ?? NOBODY)
  if (membership === null) await followAgent(tx, { orgId, tail }, at)
}

/**
 * Call before somebody becomes responsible.
 * @throws CodedError VALIDATION_ERROR if the organisation has no such member
 */
export async function assertMember(db: Db, orgId: number, membership: string): Promise<void> {
  if ((await liveMembershipById(db, membership))?.org_id === orgId) return
  throw new CodedError(
    'VALIDATION_ERROR',
    'The organisation has no member with this id. List its members, and name one of them.',
  )
}

/**
 * Call before an owner makes an agent active again.
 * @throws CodedError CONFLICT if its owner is an organisation, and nobody is responsible for it
 */
export async function assertResponsible(db: Db, { responsible }: AgentRow): Promise<void> {
  if (responsible === null) return
  if (responsible !== NOBODY && (await liveMembershipById(db, responsible)) !== undefined) return
  throw new CodedError(
    'CONFLICT',
    'This agent has no responsible person. Make a member responsible for it, then reactivate it.',
  )
}
