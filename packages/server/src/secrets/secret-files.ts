import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createIssuerKey, issuerKeyFile, issuerKeyIdOf } from './issuer-keys/key-pair.ts'
import { PEPPER, readSharedSecret, type SecretFolders, writeSecret } from './secrets.ts'
import { SERVICE_KEY_PURPOSES, serviceKeyName } from './service-keys.ts'

const EACH_ISSUER_KEY = issuerKeyFile('*')

/**
 * The secret files that all nodes share and that a backup needs; `issuer-key-*` is each issuer key. `log-head` is not
 * one of them, since each node has its own; neither is `witness-key`, which must not be used again after a restore.
 */
export const SHARED_SECRETS: readonly string[] = [
  PEPPER,
  ...SERVICE_KEY_PURPOSES.map(serviceKeyName),
  EACH_ISSUER_KEY,
]

/** Whether a file is one of `SHARED_SECRETS`. */
export function isSharedSecret(name: string): boolean {
  return issuerKeyIdOf(name) !== null || SHARED_SECRETS.includes(name)
}

/** Whether nobody but the service may read a file: also the key of a witness, and former keys of the log (`log-key-1`). */
export function isSecretFile(name: string): boolean {
  return isSharedSecret(name) || /^witness-key$|^log-key-/.test(name) || isReplacedSecret(name)
}

/** What `replaceSecrets` has moved aside. */
function isReplacedSecret(name: string): boolean {
  const [original = '', ...rest] = name.split('.replaced-')
  return rest.length > 0 && isSharedSecret(original)
}

/**
 * Reads the shared secrets, in the order of their names. Creates nothing.
 * @returns 32 bytes each, by the name of the file
 * @throws Error if a file has other contents
 */
export function readSharedSecrets(folders: SecretFolders): ReadonlyMap<string, Buffer> {
  const names = new Set([folders.keysDir, folders.dataDir].flatMap(sharedSecretsIn))
  return new Map(
    [...names].toSorted().map((name) => [name, readSharedSecret(folders, name) as Buffer]),
  )
}

/** @returns the names of the shared secrets in one folder */
export function sharedSecretsIn(dir: string): string[] {
  return existsSync(dir) ? readdirSync(dir).filter(isSharedSecret) : []
}

/** Makes all shared secrets of a new service in a folder that has none: 32 random bytes each, file mode 0600. @returns their names */
export function createSharedSecrets(dir: string): string[] {
  return SHARED_SECRETS.map((name) => {
    if (name === EACH_ISSUER_KEY) return issuerKeyFile(createIssuerKey(dir).id)
    writeSecret(dir, name, randomBytes(32))
    return name
  })
}

/** The path of a shared secret that `replaceSecrets` moves aside. @param at milliseconds since 1970 */
export function replacedSecret(dataDir: string, name: string, at: number): string {
  return join(dataDir, `${name}.replaced-${new Date(at).toISOString().replaceAll(':', '-')}`)
}
