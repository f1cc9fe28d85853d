import type { Db, Tx } from '../../database/database.ts'
import type { OrganisationDomainRow } from '../../database/schema/organisation-rows.ts'

export function domainOf(db: Db, orgId: number): Promise<OrganisationDomainRow | undefined> {
  return db
    .selectFrom('organisation_domains')
    .selectAll()
    .where('org_id', '=', orgId)
    .executeTakeFirst()
}

/** Inserts the domain of an organisation, or replaces the one before, whose lease ends. */
export async function upsertDomain(
  tx: Tx,
  row: Omit<OrganisationDomainRow, 'leased_by' | 'held_until'>,
): Promise<void> {
  const values = { ...row, leased_by: null, held_until: 0 }
  await tx.db
    .insertInto('organisation_domains')
    .values(values)
    .onConflict((conflict) => conflict.column('org_id').doUpdateSet(values))
    .execute()
}

/** @returns false if there was none */
export async function deleteDomain(tx: Tx, orgId: number): Promise<boolean> {
  const deleted = await tx.db
    .deleteFrom('organisation_domains')
    .where('org_id', '=', orgId)
    .returning('org_id')
    .execute()
  return deleted.length > 0
}

/** All times in milliseconds since 1970. */
export interface DomainLease {
  /** Identifies the lease: random, for one check. */
  readonly leasedBy: string
  readonly now: number
  /** When the lease times out. */
  readonly until: number
  /** Take the lease only if the domain is due by then. Null: always. */
  readonly dueBy: number | null
}

/**
 * Takes the lease of a domain. Of several nodes one succeeds.
 * @returns the domain; undefined if another check holds its lease, it is not due, or there is none
 */
export function leaseDomain(
  tx: Tx,
  orgId: number,
  { leasedBy, now, until, dueBy }: DomainLease,
): Promise<OrganisationDomainRow | undefined> {
  let query = tx.db
    .updateTable('organisation_domains')
    .set({ leased_by: leasedBy, held_until: until })
    .where('org_id', '=', orgId)
    .where('held_until', '<=', now)
  if (dueBy !== null) query = query.where('due_at', '<=', dueBy)
  return query.returningAll().executeTakeFirst()
}

/**
 * Ends the lease of a check, and writes what it found.
 * @returns false, without a change, if the lease is no longer held: the domain was replaced or removed, or the lease timed out
 */
export async function endDomainLease(
  tx: Tx,
  orgId: number,
  leasedBy: string,
  values: Partial<
    Pick<OrganisationDomainRow, 'due_at' | 'proven_at' | 'proven_token' | 'proven_by'>
  >,
): Promise<boolean> {
  const ended = await tx.db
    .updateTable('organisation_domains')
    .set({ ...values, leased_by: null, held_until: 0 })
    .where('org_id', '=', orgId)
    .where('leased_by', '=', leasedBy)
    .returning('org_id')
    .execute()
  return ended.length > 0
}

/** The organisations whose domains are due and not being checked, the longest due first. */
export async function dueDomains(db: Db, now: number, limit: number): Promise<number[]> {
  const rows = await db
    .selectFrom('organisation_domains')
    .select('org_id')
    .where('due_at', '<=', now)
    .where('held_until', '<=', now)
    .orderBy('due_at')
    .limit(limit)
    .execute()
  return rows.map((row) => row.org_id)
}
