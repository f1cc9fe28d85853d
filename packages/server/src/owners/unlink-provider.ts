import { CodedError } from '@countersign/protocol'
import type { OwnerDeps } from '../core/deps.ts'
import { deleteSignInIdentity } from './sign-in-identity-table.ts'
import { requireWayIn } from './sign-in-methods.ts'

/** @throws CodedError NOT_FOUND, or VALIDATION_ERROR where it is the last way in */
export async function unlinkProvider(
  { db }: Pick<OwnerDeps, 'db'>,
  ownerId: number,
  provider: string,
): Promise<void> {
  await db.write(async (tx) => {
    if (!(await deleteSignInIdentity(tx, ownerId, provider))) {
      throw new CodedError('NOT_FOUND', 'You have linked no such account.')
    }
    await requireWayIn(tx, ownerId)
  })
}
