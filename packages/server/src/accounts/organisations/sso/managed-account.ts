import { randomBase58 } from '@countersign/protocol'
import type { Tx } from '../../../database/database.ts'
import type { CoreDeps } from '../../../secrets/core-deps.ts'
import { insertOwner } from '../../owner-table.ts'

const ID_LENGTH = 12

/**
 * Adds an account that an organisation's identity provider manages. It owns nothing and has no other sign-in method.
 * @param at milliseconds since the Unix epoch
 * @returns its id
 */
export async function addManagedAccount(
  { randomBytes }: Pick<CoreDeps, 'randomBytes'>,
  tx: Tx,
  name: string,
  at: number,
): Promise<number> {
  const { id } = await insertOwner(tx, {
    kind: 'member',
    // Valid usernames contain no colon, so nobody can name this account.
    username: `member:${randomBase58(ID_LENGTH, randomBytes)}`,
    display_name: name,
    created_at: at,
    username_skeleton: null,
  })
  return id
}
