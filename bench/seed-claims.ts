import { createHash, randomBytes } from 'node:crypto'
import { closeSync, copyFileSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { loadPepper } from '../packages/server/src/secrets/secrets.ts'
import { claimBody, type KeyPair, keyPairOf } from './keys.ts'
import { certifiedKey, ROOT, type Seed } from './seed.ts'
import { seedingCodeOf } from './seeding-code.ts'
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
): Promise<ClaimSeed> {
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
export function prepareTokens(seed: Seed, dir: string, count: number): Promise<ClaimSeed> {
  return prepare(seed, dir, count, () => {
    const hash = randomBytes(HASH_BYTES)
    return { hash, written: hash }
  })
}

async function prepare(
  seed: Seed,
  dir: string,
  count: number,
  make: (i: number) => { readonly hash: Buffer; readonly written: Buffer },
): Promise<ClaimSeed> {
  const pepper = loadPepper({ keysDir: seed.dir, dataDir: seed.dir })
  const file = join(dir, 'claims')
  const grow = async (name: string, from: string, root: string) => {
    const database = join(dir, name)
    copyFileSync(from, database)
    const { Seeder } = await seedingCodeOf(root)
    return { root, database, seeder: new Seeder(database, pepper.id, { bulk: false }) }
  }
  const own = await grow('claims.db', seed.database, ROOT)
  const other = seed.before && (await grow('before.db', seed.before.database, seed.before.root))
  const seeders = other === null ? [own.seeder] : [own.seeder, other.seeder]
  const fd = openSync(file, 'w')
  for (let from = 0; from < count; from += BATCH_SIZE) {
    const claims = Array.from({ length: Math.min(BATCH_SIZE, count - from) }, (_, i) =>
      make(from + i),
    )
    const hashes = Buffer.concat(claims.map(({ hash }) => hash))
    for (const each of seeders) each.addTokens(hashes)
    writeSync(fd, Buffer.concat(claims.map(({ written }) => written)))
  }
  closeSync(fd)
  for (const each of seeders) each.finish()
  return { database: own.database, before: other, grownFrom: seed.database, file, count }
}

function knownKeys(): (i: number) => KeyPair {
  const pairs = Array.from({ length: KNOWN_KEYS }, (_, i) => certifiedKey(i))
  return (i) => pairs[i % KNOWN_KEYS] as KeyPair
}
