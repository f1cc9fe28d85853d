import { createHash, randomBytes } from 'node:crypto'
import { closeSync, copyFileSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type KeyPair, keyPairOf, signText } from './keys.ts'
import { certifiedKey, type Seed } from './seed.ts'
import { Seeder } from './seed-rows.ts'

const KNOWN_KEYS = 64
const LINES_AT_ONCE = 1000

/** Claims that have not been made yet: a database with their tokens, and their bodies. */
export interface ClaimSeed {
  readonly database: string
  /** Bodies in lines of one length; each is good for one claim. */
  readonly bodies: string
  readonly count: number
}

/**
 * Adds an owner with a token for each claim to a copy of a seed, and signs the claims.
 * @param keys a fresh key for each, or one of 64 that have certificates, with another label each time
 */
export function prepareClaims(
  seed: Seed,
  dir: string,
  count: number,
  keys: 'fresh' | 'known',
): ClaimSeed {
  const database = join(dir, 'claims.db')
  const bodies = join(dir, 'claims.jsonl')
  copyFileSync(seed.database, database)
  const seeder = new Seeder(database)
  const pairOf = keys === 'fresh' ? (i: number) => keyPairOf(`claim ${i}`) : knownKeys()
  const fd = openSync(bodies, 'w')
  for (let from = 0; from < count; from += LINES_AT_ONCE) {
    let lines = ''
    for (let i = from; i < Math.min(count, from + LINES_AT_ONCE); i++) {
      const token = `svc-verify-${randomBytes(16).toString('hex')}`
      seeder.addToken(seeder.addOwner(), createHash('sha256').update(token).digest())
      lines += `${claimBody(token, i, pairOf(i))}\n`
    }
    writeSync(fd, lines)
  }
  closeSync(fd)
  seeder.finish()
  return { database, bodies, count }
}

function knownKeys(): (i: number) => KeyPair {
  const pairs = Array.from({ length: KNOWN_KEYS }, (_, i) => certifiedKey(i))
  return (i) => pairs[i % KNOWN_KEYS] as KeyPair
}

function claimBody(claimToken: string, i: number, pair: KeyPair): string {
  const agentId = `agent-${String(i).padStart(8, '0')}`
  const publicKey = pair.publicKey.toString('base64')
  const signature = signText(pair, `${claimToken}|${agentId}`)
  return JSON.stringify({ claimToken, agentId, publicKey, signature })
}
