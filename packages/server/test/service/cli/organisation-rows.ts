import { createOrganisation } from '../../../../../test/support/organisations.ts'
import type { TestService } from '../../../../../test/support/service.ts'

/** One row in each table of organisations. */
export async function insertOrganisation(service: TestService, tail: string): Promise<void> {
  const { id: org_id, admin } = await createOrganisation(service)
  const of = { org_id, created_at: 2 ** 43 }
  const by = admin.membership
  const user = { user_name: 'A', user_name_folded: 'a', active: 1, updated_at: 1 }
  const connection = { issuer: 'https://i.example', client_id: 'c', group_claim: 'groups' }
  const transfer = { from_owner: org_id, to_owner: org_id, state: 'cancelled', expires_at: 1 }
  const rows = {
    invitations: {
      ...of,
      id: 'i',
      email: 'a@b.example',
      role: 'viewer',
      invited_by: by,
      expires_at: 1,
    },
    organisation_settings: { org_id, suspend_after_days: 3 },
    organisation_domains: {
      org_id,
      domain: 'b.example',
      token: 't',
      token_expires_at: 1,
      held_until: 0,
    },
    sso_connections: {
      ...of,
      ...connection,
      id: 'c',
      role_map: '{}',
      subject_claim: 'sub',
      updated_at: 1,
    },
    scim_tokens: { ...of, id: 't', hash: Buffer.alloc(32, 4), created_by: by, expires_at: 1 },
    scim_users: { ...of, ...user, id: 'su_1' },
    transfers: { ...transfer, id: 'tr_1', created_at: 1 },
    transfer_agents: { transfer_id: 'tr_1', tail, is_open: 0 },
    member_actions: {
      id: 1,
      org_id,
      membership: by,
      operation: 'inviteMember',
      request: 'r',
      at: 1,
    },
  }
  await service.operator.db.write(async ({ db }) => {
    for (const [table, row] of Object.entries(rows)) {
      await db
        .insertInto(table as keyof typeof rows)
        .values(row as never)
        .execute()
    }
  })
}
