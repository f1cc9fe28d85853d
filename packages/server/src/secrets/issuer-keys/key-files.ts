import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { readSecretIfExists, writeSecret } from '../secrets.ts'
import { type IssuerKeyPair, issuerKeyPairOf } from './key-pair.ts'

/** The file of a key pair in the data directory. Its name says which key it must hold, so that it is never mistaken for another. */
export function issuerKeyFile(id: string): string {
  return `issuer-key-${id}`
}

/** Makes a key pair and stores its secret in the data directory: 32 random bytes, file mode 0600. */
export function createIssuerKey(dataDir: string): IssuerKeyPair {
  const secret = randomBytes(32)
  const pair = issuerKeyPairOf(secret)
  writeSecret(dataDir, issuerKeyFile(pair.id), secret)
  return pair
}

export function deleteIssuerKey(dataDir: string, id: string): void {
  rmSync(join(dataDir, issuerKeyFile(id)), { force: true })
}

/** @returns `missing` if there is no file, `other` if it has other contents than its name says */
export function readIssuerKey(dataDir: string, id: string): IssuerKeyPair | 'missing' | 'other' {
  let secret: Buffer | null
  try {
    secret = readSecretIfExists(dataDir, issuerKeyFile(id))
  } catch {
    return 'other'
  }
  if (secret === null) return 'missing'
  const pair = issuerKeyPairOf(secret)
  return pair.id === id ? pair : 'other'
}
