import { CompiledQuery } from 'kysely'
import type { Tx } from './database.ts'

/** Unique constraints by name, which PostgreSQL reports, with the columns that SQLite reports instead. */
const COLUMNS = {
  agents_username: 'agents.username',
  agents_username_skeleton: 'agents.username_skeleton',
  identity_verifications_subject:
    'identity_verifications.provider, identity_verifications.subject_hash',
  passkeys_pkey: 'passkeys.credential_id',
  scim_users_external: 'scim_users.org_id, scim_users.external_id',
  scim_users_name: 'scim_users.org_id, scim_users.user_name_folded',
  sign_in_identities_owner: 'sign_in_identities.owner_id, sign_in_identities.provider',
  transfer_agents_live: 'transfer_agents.tail',
  sign_in_identities_pk: 'sign_in_identities.provider, sign_in_identities.subject_hash',
} as const

type Constraint = keyof typeof COLUMNS

const SAVEPOINT = CompiledQuery.raw('savepoint attempt')
const RELEASE = CompiledQuery.raw('release attempt')
const ROLLBACK_TO = CompiledQuery.raw('rollback to attempt')

/**
 * Executes a statement that may violate a unique constraint. The transaction stays usable: a savepoint is needed, since
 * PostgreSQL otherwise aborts the transaction on any error.
 * @param constraints the violations to ignore
 * @returns false if one of them was violated and the statement changed nothing
 * @throws what the statement throws for any other reason
 */
export async function ignoreUniqueViolation(
  tx: Pick<Tx, 'db'>,
  constraints: readonly Constraint[],
  statement: () => Promise<unknown>,
): Promise<boolean> {
  await tx.db.executeQuery(SAVEPOINT)
  let isViolated = false
  try {
    await statement()
  } catch (error) {
    if (!constraints.some((name) => violates(error, name))) throw error
    isViolated = true
    await tx.db.executeQuery(ROLLBACK_TO)
  }
  await tx.db.executeQuery(RELEASE)
  return !isViolated
}

const SQLITE_PRIMARY_KEY = 1555
const SQLITE_UNIQUE = 2067
const POSTGRES_UNIQUE = '23505'

function violates(error: unknown, name: Constraint): boolean {
  if (!(error instanceof Error)) return false
  const { code, constraint, errcode } = error as { code?: string; constraint?: string } & {
    errcode?: number
  }
  if (code === POSTGRES_UNIQUE) return constraint === name
  const unique = errcode === SQLITE_PRIMARY_KEY || errcode === SQLITE_UNIQUE
  return unique && error.message === `UNIQUE constraint failed: ${COLUMNS[name]}`
}
