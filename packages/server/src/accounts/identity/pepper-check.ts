import type { Database, Db } from '../../database/database.ts'
import { schema } from '../../database/schema/migrations/0001-schema.ts'
import { insertSetting, readSetting, writeSetting } from '../../database/settings-table.ts'
import type { Pepper } from '../../secrets/secrets.ts'
import { peppersInUse } from './write-verification-table.ts'

/** The database was written with another pepper. With this one, no stored identity hash would match again. */
export class OtherPepperError extends Error {
  override readonly name = 'OtherPepperError'

  constructor() {
    super(
      'identity-pepper is not the one that the data were written with. Copy that file from another node or from the backup. If it is lost, run: countersignd accept-pepper',
    )
  }
}

const SETTING = 'identity-pepper'

interface Parts {
  readonly db: Database
  readonly pepper: Pepper
}

/** The setting by which the database recognizes its pepper: a digest in hex that does not reveal the pepper. */
export function digestOfPepper(pepper: Pepper): { readonly name: string; readonly value: string } {
  const digest = pepper.authenticate('the same on all nodes', SETTING)
  return { name: SETTING, value: Buffer.from(digest).toString('hex') }
}

/**
 * Compares a pepper with the one that the database was written with.
 * @param pepper null if the data directory has none
 * @param missing the migrations that are not yet applied to the database
 * @returns `unknown` if no owner is verified and no node has stored its pepper's digest
 */
export async function comparePepper(
  db: Db,
  pepper: Pepper | null,
  missing: readonly string[] = [],
): Promise<'same' | 'other' | 'unknown'> {
  if (missing.includes(schema.name)) return 'unknown'
  const known = await readSetting(db, SETTING)
  if (known !== null)
    return pepper !== null && digestOfPepper(pepper).value === known ? 'same' : 'other'
  // Commands verify owners before the first start of a service. Verifications name their pepper.
  const inUse = await peppersInUse(db)
  return inUse.length === 0 || inUse.includes(pepper?.id ?? '') ? 'unknown' : 'other'
}

/**
 * Asserts that this node hashes identities with the same pepper as all others. The first node stores its digest.
 * @throws OtherPepperError
 */
export async function assertSamePepper({ db, pepper }: Parts): Promise<void> {
  const found = await comparePepper(db.read, pepper)
  if (found === 'same') return
  if (found === 'other') throw new OtherPepperError()
  const { name, value } = digestOfPepper(pepper)
  const stored = await db.write((tx) => insertSetting(tx, name, value))
  if (stored !== value) throw new OtherPepperError()
}

/** Stores this node's pepper as the valid one. People verified with another pepper are no longer recognized. */
export async function acceptPepper({ db, pepper }: Parts): Promise<void> {
  const { name, value } = digestOfPepper(pepper)
  await db.write((tx) => writeSetting(tx, name, value))
}
