import { createHash, randomBytes } from 'node:crypto'
import { closeSync, copyFileSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { loadPepper } from '../packages/server/src/secrets/secrets.ts'
import { claimBody, type KeyPair, keyPairOf } from './keys.ts'
import { certifiedKey, type Seed } from './seed.ts'
import { Seeder } from './seed-rows.ts'
import type { Data } from './stores.ts'

const KNOWN_KEYS = 64
const BATCH_SIZE = 1000
const HASH_BYTES = 32

/** Prepared claims: a database with their tokens, and a file with their bodies. */
export interface ClaimSeed extends Data {
  /** One claim after another, all of the same length. */
  readonly file: string
  readonly count: number
}

/**
 * Adds an owner and a token for each claim to a copy of a seed, and signs the claims.
 * @param keys a new key for each, or one of 64 that have certificates, with another label each time
 * @returns the bodies, one per line
 */
export function prepareClaims(
  seed: Seed,
  dir: string,
  count: number,
  keys: 'fresh' | 'known',
): ClaimSeed {
  const pairOf = keys === 'fresh' ? (i: number) => keyPairOf(`claim ${i}`) : knownKeys()
  return prepare(seed, dir, count, (i) => {
    const token = `svc-verify-${randomBytes(16).toString('hex')}`
    const hash = createHash('sha256').update(token).digest()
    const body = claimBody(token, `agent-${String(i).padStart(8, '0')}`, pairOf(i))
    return { hash, written: Buffer.from(`${body}\n`) }
  })
}

/**
 * The same without signatures.
 * @returns the hashes of the tokens, 32 bytes each
 */
export function prepareTokens(seed: Seed, dir: string, count: number): ClaimSeed {
  return prepare(seed, dir, count, () => {
    const hash = randomBytes(HASH_BYTES)
    return { hash, written: hash }
  })
}

function prepare(
  seed: Seed,
  dir: string,
  count: number,
  make: (i: number) => { readonly hash: Buffer; readonly written: Buffer },
): ClaimSeed {
  const database = join(dir, 'claims.db')
  const file = join(dir, 'claims')
  copyFileSync(seed.database, database)
  const seeder = new Seeder(database, loadPepper(seed.dir).id, { bulk: false })
  const fd = openSync(file, 'w')
  for (let from = 0; from < count; from += BATCH_SIZE) {
    const claims = Array.from({ length: Math.min(BATCH_SIZE, count - from) }, (_, i) =>
      make(from + i),
    )
    seeder.addTokens(Buffer.concat(claims.map(({ hash }) => hash)))
    writeSync(fd, Buffer.concat(claims.map(({ written }) => written)))
  }
  closeSync(fd)
  seeder.finish()
  return { database, grownFrom: seed.database, file, count }
}

function knownKeys(): (i: number) => KeyPair {
  const pairs = Array.from({ length: KNOWN_KEYS }, (_, i) => certifiedKey(i))
  return (i) => pairs[i % KNOWN_KEYS] as KeyPair
}
