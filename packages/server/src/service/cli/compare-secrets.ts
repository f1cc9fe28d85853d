import { comparePepper, OtherPepperError } from '../../accounts/identity/pepper-check.ts'
import type { Db } from '../../database/database.ts'
import { checkIssuerKey, OtherIssuerKeyError } from '../../secrets/issuer-keys/issuer-keys.ts'
import { readPepper, type SecretFolders } from '../../secrets/secrets.ts'
import {
  compareServiceKey,
  OtherServiceKeyError,
  SERVICE_KEY_PURPOSES,
} from '../../secrets/service-keys.ts'

/** How the keys of a node fit the database. */
export interface KeyComparison {
  /** Each names a file that is missing or differs, and what to do. */
  readonly faults: readonly Error[]
  /** Whether the database knows all of them. */
  readonly isComplete: boolean
}

/** Compares the service's own keys and the active issuer key of a node with a database that has all migrations. */
export async function compareKeys(db: Db, folders: SecretFolders): Promise<KeyComparison> {
  const faults: Error[] = []
  let isComplete = true
  for (const purpose of SERVICE_KEY_PURPOSES) {
    const found = await compareServiceKey(db, folders, purpose)
    if (found === 'unknown') isComplete = false
    else if (found !== 'same') faults.push(new OtherServiceKeyError(purpose, found))
  }
  const issuer = await checkIssuerKey(db, folders)
  if (issuer === null) isComplete = false
  else if (issuer.found !== 'same') faults.push(new OtherIssuerKeyError(issuer.id, issuer.found))
  return { faults, isComplete }
}

/** Asserts that all secrets of a node fit a database that has all migrations. @throws OtherPepperError and others that name the file */
export async function assertSecretsFit(db: Db, folders: SecretFolders): Promise<void> {
  if ((await comparePepper(db, readPepper(folders))) === 'other') throw new OtherPepperError()
  const [fault] = (await compareKeys(db, folders)).faults
  if (fault !== undefined) throw fault
}
