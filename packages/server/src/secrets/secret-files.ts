import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { PEPPER, readSecretIfExists } from './secrets.ts'
import { SERVICE_KEY_PURPOSES, serviceKeyName } from './service-keys.ts'

/**
 * The secret files of a data directory that all nodes share and that a backup needs; `issuer-key-*` is each issuer key. `log-head` is not
 * one of them, since each node has its own; neither is `witness-key`, which must not be used again after a restore.
 */
export const SHARED_SECRETS: readonly string[] = [
  PEPPER,
  ...SERVICE_KEY_PURPOSES.map(serviceKeyName),
  'issuer-key-*',
]

const ISSUER_KEY = /^issuer-key-[A-Za-z0-9_-]{43}$/

/** Whether a file is one of `SHARED_SECRETS`. */
export function isSharedSecret(name: string): boolean {
  return ISSUER_KEY.test(name) || SHARED_SECRETS.includes(name)
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
 * Reads the shared secrets of a data directory, in the order of their names. Creates nothing.
 * @returns 32 bytes each, by the name of the file
 * @throws Error if a file has other contents
 */
export function readSharedSecrets(dataDir: string): ReadonlyMap<string, Buffer> {
  const names = existsSync(dataDir) ? readdirSync(dataDir).filter(isSharedSecret).toSorted() : []
  return new Map(names.map((name) => [name, readSecretIfExists(dataDir, name) as Buffer]))
}

/** The path of a shared secret that `replaceSecrets` moves aside. @param at milliseconds since 1970 */
export function replacedSecret(dataDir: string, name: string, at: number): string {
  return join(dataDir, `${name}.replaced-${new Date(at).toISOString().replaceAll(':', '-')}`)
}
