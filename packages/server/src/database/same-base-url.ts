import { isLoopback } from '@countersign/protocol'
import type { Database, Db } from './database.ts'
import { readSetting, writeSetting } from './settings-table.ts'

const SETTING = 'base-url'

/** `BASE_URL` is another address than the one under which the service was first started. */
export class OtherBaseUrlError extends Error {
  override readonly name = 'OtherBaseUrlError'

  constructor(stored: string, current: string) {
    super(
      `BASE_URL is ${current}, but the data belong to ${stored}. ${WHAT_BREAKS} Set BASE_URL=${stored}. To move the service, run: countersignd change-base-url ${current}`,
    )
  }
}

/** What a change of BASE_URL costs. */
export const WHAT_BREAKS =
  'With another address, issued certificates no longer verify, did:web identifiers of agents do not resolve, passkeys stop working, identity providers reject the sign-in until you register the new address, and signed requests and links name the previous address.'

/** The address of the service as the database knows it; null before the first start. */
export function storedBaseUrl(db: Db): Promise<string | null> {
  return readSetting(db, SETTING)
}

/**
 * Compares BASE_URL with the address that the database knows. Addresses on loopback are not compared with each other: they
 * mean something on one machine only.
 * @returns the stored address if it is another one; null if the service may start
 */
export async function otherBaseUrl(db: Db, baseUrl: URL): Promise<string | null> {
  const stored = await storedBaseUrl(db)
  if (stored === null || stored === baseUrl.origin) return null
  return isLoopback(new URL(stored).hostname) ? null : stored
}

/**
 * Asserts that the service has the address under which it was first started. The first node stores it.
 * @throws OtherBaseUrlError
 */
export async function assertSameBaseUrl(db: Database, baseUrl: URL): Promise<void> {
  const isStored = (await storedBaseUrl(db.read)) === baseUrl.origin
  if (isStored) return
  const other = await db.write(async (tx) => {
    const found = await otherBaseUrl(tx.db, baseUrl)
    if (found === null) await writeSetting(tx, SETTING, baseUrl.origin)
    return found
  })
  if (other !== null) throw new OtherBaseUrlError(other, baseUrl.origin)
}

/** Stores another address. Nodes that run with the previous one go on until they are restarted. */
export async function changeBaseUrl(db: Database, baseUrl: URL): Promise<void> {
  await db.write((tx) => writeSetting(tx, SETTING, baseUrl.origin))
}
