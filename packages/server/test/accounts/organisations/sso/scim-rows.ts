import { randomBytes } from 'node:crypto'
import type { TestService } from '../../../../../../test/support/service.ts'

const DAY_MS = 86_400_000

/** Gives an organisation a SCIM token. */
export async function insertScimToken(
  { operator }: TestService,
  createdBy: string,
  orgId: number,
): Promise<void> {
  await operator.db.write(async (tx) => {
    await tx.db
      .insertInto('scim_tokens')
      .values({
        hash: randomBytes(32),
        id: 'token',
        org_id: orgId,
        created_by: createdBy,
        created_at: Date.now(),
        expires_at: Date.now() + DAY_MS,
        last_used_at: null,
      })
      .execute()
  })
}

/** Adds a user to the directory of an organisation. */
export async function insertScimUser(
  { operator }: TestService,
  orgId: number,
  user: { readonly external_id: string; readonly active: 0 | 1 },
): Promise<void> {
  const name = `${user.external_id}@example.com`
  await operator.db.write(async (tx) => {
    await tx.db
      .insertInto('scim_users')
      .values({
        id: `su_${user.external_id}`,
        org_id: orgId,
        user_name: name,
        user_name_folded: name,
        display_name: null,
        person_id: null,
        created_at: 0,
        updated_at: 0,
        ...user,
      })
      .execute()
  })
}
