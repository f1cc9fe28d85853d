import type { Pepper } from '../core/crypto/secrets.ts'
import type { Database, Db } from '../core/database/database.ts'
import { first } from '../core/database/migrations/0001-first.ts'
import { facts } from '../core/database/migrations/0005-facts.ts'
import { insertSetting, readSetting, writeSetting } from '../core/database/settings-table.ts'
import { peppersInUse } from './verification-table.ts'

/** The data were written with another pepper: under this one nobody in them would be known again. */
export class OtherPepperError extends Error {
  override readonly name = 'OtherPepperError'

  constructor() {
    super(
      'identity-pepper in DATA_DIR is not the one that the data were written with. Put that file there: from another node, or from the backup. Where it is lost for good, run: countersignd accept-pepper',
    )
  }
}

const FACT = 'identity-pepper'

interface Parts {
  readonly db: Database
  readonly pepper: Pepper
}

/** What the database keeps of a pepper: a digest by which it is recognised, and from which nothing can be had. */
export function digestOfPepper(pepper: Pepper): { readonly name: string; readonly value: string } {
  const digest = pepper.authenticate('the same on all nodes', FACT)
  return { name: FACT, value: Buffer.from(digest).toString('hex') }
}

/**
 * What the data say of a pepper: whether it is theirs. `unsaid` where nobody was verified yet, or no node has noted it.
 * @param pepper null where there is none, which is another one for data that were written with one
 * @param missing the migrations that were not applied to the data yet
 */
export async function comparePepper(
  db: Db,
  pepper: Pepper | null,
  missing: readonly string[] = [],
): Promise<'same' | 'other' | 'unknown'> {
  if (missing.includes(first.name)) return 'unknown'
  const known = missing.includes(facts.name) ? null : await readSetting(db, FACT)
  if (known !== null)
    return pepper !== null && digestOfPepper(pepper).value === known ? 'same' : 'other'
  // Data from before this was noted may tell as well.
  const inUse = await peppersInUse(db)
  return inUse.length === 0 || inUse.includes(pepper?.id ?? '') ? 'unknown' : 'other'
}

/**
 * Makes sure that this node hashes identities as all others do. The first to come says how.
 * @throws OtherPepperError
 */
export async function assertSamePepper({ db, pepper }: Parts): Promise<void> {
  const found = await comparePepper(db.read, pepper)
  if (found === 'same') return
  if (found === 'other') throw new OtherPepperError()
  const { name, value } = digestOfPepper(pepper)
  const noted = await db.write((tx) => insertSetting(tx, name, value))
  if (noted !== value) throw new OtherPepperError()
}

/** From now on the pepper of this node is the one. Whoever was verified under another is not known again. */
export async function acceptPepper({ db, pepper }: Parts): Promise<void> {
  const { name, value } = digestOfPepper(pepper)
  await db.write((tx) => writeSetting(tx, name, value))
}
