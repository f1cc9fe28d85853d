import { hkdfSync } from 'node:crypto'
import { keyThumbprint } from '@countersign/protocol'
import sodium from 'sodium-native'
import type { Database, Db } from '../database/database.ts'
import { insertSetting, readSetting, writeSetting } from '../database/settings-table.ts'
import { loadSecret, readSharedSecret, type SecretFolders } from './secrets.ts'

/**
 * What the service signs with keys of its own. Each purpose has its own key pair, so that a signature for one can never be
 * used for another. `directory`: the key set of the service itself. `webhook`: the `v1a` signatures of deliveries. `log`: checkpoints of
 * the transparency log. `a2a`: the keys that countersign agent cards are derived from it.
 */
export const SERVICE_KEY_PURPOSES = ['directory', 'webhook', 'log', 'a2a'] as const
export type ServiceKeyPurpose = (typeof SERVICE_KEY_PURPOSES)[number]

/** An Ed25519 key pair of the service. */
export interface ServiceKey {
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  /** @returns a signature of 64 bytes */
  sign(message: Uint8Array): Uint8Array
}

/** The file of a key, and the name of the setting by which the database recognizes it. */
export function serviceKeyName(purpose: ServiceKeyPurpose): string {
  return `${purpose}-key`
}

/** The node has no key or another key than the other nodes. If each had its own, verifiers would see the key change from request to request. */
export class OtherServiceKeyError extends Error {
  override readonly name = 'OtherServiceKeyError'

  constructor(purpose: ServiceKeyPurpose, found: 'other' | 'missing') {
    const file = serviceKeyName(purpose)
    const problem =
      found === 'missing'
        ? `${file} is missing in DATA_DIR.`
        : `${file} is not the one that the database knows.`
    super(
      `${problem} Copy that file from another node or from the backup. If it is lost, run: countersignd ${purpose === 'log' ? 'log new-epoch' : `accept-service-key ${purpose}`}`,
    )
  }
}

interface Parts {
  readonly db: Database
  readonly folders: SecretFolders
}

/**
 * Opens the key for a purpose, which all nodes share. The first node makes it: 32 random bytes in a file with mode 0600, and
 * its thumbprint in the database. If two nodes start first at the same time, the database decides which key stays.
 * @throws OtherServiceKeyError; Error if the file has other contents
 */
export async function openServiceKey(
  { db, folders }: Parts,
  purpose: ServiceKeyPurpose,
): Promise<ServiceKey> {
  const found = await compareServiceKey(db.read, folders, purpose)
  if (found === 'other' || found === 'missing') throw new OtherServiceKeyError(purpose, found)
  const key = serviceKeyOf(loadSecret(folders, serviceKeyName(purpose)))
  if (found === 'same') return key
  const thumbprint = keyThumbprint(key.publicKey)
  const stored = await db.write((tx) => insertSetting(tx, serviceKeyName(purpose), thumbprint))
  if (stored !== thumbprint) throw new OtherServiceKeyError(purpose, 'other')
  return key
}

/** A key pair of the service that is used for one thing. @param info names that thing */
export type DeriveServiceKey = (info: string) => ServiceKey

/**
 * Opens the key for a purpose as `openServiceKey` does, for keys that are derived from it (HKDF-SHA256).
 * @throws what `openServiceKey` throws
 */
export async function openDerivedServiceKeys(
  parts: Parts,
  purpose: ServiceKeyPurpose,
): Promise<DeriveServiceKey> {
  await openServiceKey(parts, purpose)
  const secret = loadSecret(parts.folders, serviceKeyName(purpose))
  return (info) => serviceKeyOf(Buffer.from(hkdfSync('sha256', secret, '', info, secret.length)))
}

/**
 * Compares the key of a node with the one that the database knows. Creates nothing.
 * @returns `unknown` if no node has stored its key's thumbprint yet
 */
export async function compareServiceKey(
  db: Db,
  folders: SecretFolders,
  purpose: ServiceKeyPurpose,
): Promise<'same' | 'other' | 'missing' | 'unknown'> {
  const known = await readSetting(db, serviceKeyName(purpose))
  if (known === null) return 'unknown'
  const seed = readSharedSecret(folders, serviceKeyName(purpose))
  if (seed === null) return 'missing'
  return keyThumbprint(serviceKeyOf(seed).publicKey) === known ? 'same' : 'other'
}

/** Makes the key of this node the valid one, and creates it if it does not exist. */
export async function acceptServiceKey(
  { db, folders }: Parts,
  purpose: ServiceKeyPurpose,
): Promise<void> {
  const { publicKey } = serviceKeyOf(loadSecret(folders, serviceKeyName(purpose)))
  await db.write((tx) => writeSetting(tx, serviceKeyName(purpose), keyThumbprint(publicKey)))
}

/** @param seed the 32 bytes of RFC 8032's private key */
export function serviceKeyOf(seed: Buffer): ServiceKey {
  const publicKey = Buffer.alloc(sodium.crypto_sign_PUBLICKEYBYTES)
  const secretKey = Buffer.alloc(sodium.crypto_sign_SECRETKEYBYTES)
  sodium.crypto_sign_seed_keypair(publicKey, secretKey, seed)
  return {
    publicKey,
    sign(message) {
      const signature = Buffer.alloc(sodium.crypto_sign_BYTES)
      sodium.crypto_sign_detached(signature, message as Buffer, secretKey)
      return signature
    },
  }
}
