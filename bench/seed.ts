import { createHash, randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assertSamePepper } from '../packages/server/src/accounts/identity/pepper-check.ts'
import { openDatabase } from '../packages/server/src/database/open-database.ts'
import { migrateFile } from '../packages/server/src/database/sqlite/sqlite-database.ts'
import { loadPepper } from '../packages/server/src/secrets/secrets.ts'
import { EFFECTS } from '../packages/server/src/service/effects.ts'
import { keyPairOf, signText } from './keys.ts'
import type { Scope } from './scope.ts'
import { Seeder, TAIL_LINE } from './seed-rows.ts'

/** Agents with real key pairs, which can sign challenges. The others have random bytes as keys. */
const REAL_KEYS = 1000
const CHALLENGES_PER_KEY = 4
const AGENTS_PER_OWNER = 10
/** Rounded so that each owner is complete. */
const AGENTS_PER_BATCH = 1000 * AGENTS_PER_OWNER
const KEY_BYTES = 32
const NEWLINE = 10
const ALPHABET = Buffer.from('123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz')

/** A data directory with agents, and files with requests for them. */
export interface Seed {
  readonly dir: string
  readonly agents: number
  readonly database: string
  /** The tail of each agent, one per line. */
  readonly tails: string
  /** The first tail only. */
  readonly hotTail: string
  /** Bodies of challenge verifications, one per line. */
  readonly challenges: string
  /** Seconds that seeding took, or null if the seed already existed. */
  readonly seconds: number | null
}

/** The key pair with number `i` of those with certificates; the same in every seed. */
export function certifiedKey(i: number) {
  return keyPairOf(`agent ${i}`)
}

/** An agent whose key the bench has. */
export interface RealAgent {
  readonly tail: string
  /** For `certifiedKey`. */
  readonly key: number
}

/** Some agents with real key pairs. */
export function realAgents({ agents, tails }: Seed, count: number): RealAgent[] {
  const realKeys = Math.min(REAL_KEYS, agents)
  const apart = Math.floor(agents / realKeys)
  const lines = readFileSync(tails, 'latin1')
  return Array.from({ length: Math.min(count, realKeys) }, (_, key) => {
    const at = key * apart * TAIL_LINE
    return { tail: lines.slice(at, at + TAIL_LINE - 1), key }
  })
}

/** Creates a seeded database, or reuses one with the same number of agents and the same schema. */
export async function prepareSeed(
  scope: Scope,
  agents: number,
  { fresh }: { readonly fresh: boolean },
): Promise<Seed> {
  const dir = join(tmpdir(), `countersign-bench-seed-${agents}-${fingerprint()}`)
  if (!fresh && existsSync(dir)) return seedIn(dir, agents, null)
  const draft = mkdtempSync(`${dir}-draft-`)
  const discard = scope.defer(() => rmSync(draft, { recursive: true, force: true }))
  const started = performance.now()
  await fill(seedIn(draft, agents, null))
  const seconds = (performance.now() - started) / 1000
  rmSync(dir, { recursive: true, force: true })
  renameSync(draft, dir)
  await discard()
  return seedIn(dir, agents, seconds)
}

function seedIn(dir: string, agents: number, seconds: number | null): Seed {
  return {
    dir,
    agents,
    database: join(dir, 'countersign.db'),
    tails: join(dir, 'tails.txt'),
    hotTail: join(dir, 'hot-tail.txt'),
    challenges: join(dir, 'challenges.jsonl'),
    seconds,
  }
}

/** A hash of everything that determines a seed: the migrations and the seeding code. */
function fingerprint(): string {
  const migrations = join(import.meta.dirname, '../packages/server/src/database/schema/migrations')
  const files = readdirSync(migrations).map((name) => join(migrations, name))
  return fingerprintOf([...files, import.meta.filename, join(import.meta.dirname, 'seed-rows.ts')])
}

/** Increase it when the contents of the files change. */
export function fingerprintOf(files: readonly string[]): string {
  const hash = createHash('sha256')
  for (const file of files) hash.update(readFileSync(file))
  return hash.digest('hex').slice(0, 12)
}

async function fill(seed: Seed): Promise<void> {
  const { agents } = seed
  await migrateFile(seed.database, Date.now)
  const pepper = loadPepper(seed.dir)
  const seeder = new Seeder(seed.database, pepper.id, { bulk: true })
  const realKeys = Math.min(REAL_KEYS, agents)
  const apart = Math.floor(agents / realKeys)
  const tails = openSync(seed.tails, 'w')
  for (let from = 0; from < agents; from += AGENTS_PER_BATCH) {
    const count = Math.min(AGENTS_PER_BATCH, agents - from)
    const lines = randomTails(count)
    const keys = randomBytes(count * KEY_BYTES)
    for (let real = Math.ceil(from / apart); real < realKeys; real++) {
      const at = real * apart - from
      if (at >= count) break
      keys.set(certifiedKey(real).publicKey, at * KEY_BYTES)
    }
    seeder.addAgents(lines, keys, AGENTS_PER_OWNER)
    writeSync(tails, lines)
    if (from === 0) writeFileSync(seed.hotTail, lines.subarray(0, TAIL_LINE))
  }
  closeSync(tails)
  seeder.finish()
  const db = await openDatabase({ kind: 'sqlite', file: seed.database }, Date.now, EFFECTS)
  await assertSamePepper({ db, pepper })
  await db.close()
  writeFileSync(seed.challenges, challengesOf(realKeys).join('\n'))
}

/** One per line. The slight bias does not matter to any measurement. */
function randomTails(count: number): Buffer {
  const lines = randomBytes(count * TAIL_LINE)
  for (let i = 0; i < lines.length; i++) {
    lines[i] =
      (i + 1) % TAIL_LINE === 0
        ? NEWLINE
        : (ALPHABET[(lines[i] as number) % ALPHABET.length] as number)
  }
  return lines
}

function challengesOf(keys: number): string[] {
  return Array.from({ length: keys * CHALLENGES_PER_KEY }, (_, i) => {
    const pair = certifiedKey(i % keys)
    const challenge = randomBytes(32).toString('base64url')
    const publicKey = pair.publicKey.toString('base64')
    return JSON.stringify({ publicKey, challenge, signature: signText(pair, challenge) })
  })
}
