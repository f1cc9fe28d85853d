import { createHash, randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
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
import { loadPepper } from '../packages/server/src/secrets/secrets.ts'
import { EFFECTS } from '../packages/server/src/service/effects.ts'
import { keyPairOf, signText } from './keys.ts'
import type { Scope } from './scope.ts'
import { type Seeder, TAIL_LINE } from './seed-rows.ts'
import { seedingCodeOf, seedingFilesOf } from './seeding-code.ts'

/** Agents with real key pairs, which can sign challenges. The others have random bytes as keys. */
const REAL_KEYS = 1000
const CHALLENGES_PER_KEY = 4
const AGENTS_PER_OWNER = 10
/** Rounded so that each owner is complete. */
const AGENTS_PER_BATCH = 1000 * AGENTS_PER_OWNER
const KEY_BYTES = 32
const NEWLINE = 10
/** This checkout. */
export const ROOT = join(import.meta.dirname, '..')
const ALPHABET = Buffer.from('123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz')

/** A database of another checkout. */
export interface OtherData {
  readonly root: string
  readonly database: string
}

/** A data directory with agents, and files with requests for them. */
export interface Seed {
  readonly dir: string
  readonly agents: number
  readonly database: string
  /** The same owners and agents with the schema of the checkout that is compared; null without one. */
  readonly before: OtherData | null
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
  { fresh, before }: { readonly fresh: boolean; readonly before: string | null },
): Promise<Seed> {
  const roots = before === null ? [ROOT] : [ROOT, before]
  const fingerprint = fingerprintOf([...roots.flatMap(seedingFilesOf), import.meta.filename])
  const dir = join(tmpdir(), `countersign-bench-seed-${agents}-${fingerprint}`)
  if (!fresh && existsSync(dir)) return seedIn(dir, agents, before, null)
  const draft = mkdtempSync(`${dir}-draft-`)
  const discard = scope.defer(() => rmSync(draft, { recursive: true, force: true }))
  const started = performance.now()
  await fill(seedIn(draft, agents, before, null))
  const seconds = (performance.now() - started) / 1000
  rmSync(dir, { recursive: true, force: true })
  renameSync(draft, dir)
  await discard()
  return seedIn(dir, agents, before, seconds)
}

function seedIn(dir: string, agents: number, before: string | null, seconds: number | null): Seed {
  return {
    dir,
    agents,
    database: join(dir, 'countersign.db'),
    before: before === null ? null : { database: join(dir, 'before.db'), root: before },
    tails: join(dir, 'tails.txt'),
    hotTail: join(dir, 'hot-tail.txt'),
    challenges: join(dir, 'challenges.jsonl'),
    seconds,
  }
}

/** Increase it when the contents of the files change. */
export function fingerprintOf(files: readonly string[]): string {
  const hash = createHash('sha256')
  for (const file of files) hash.update(readFileSync(file))
  return hash.digest('hex').slice(0, 12)
}

async function fill(seed: Seed): Promise<void> {
  const { agents } = seed
  const pepper = loadPepper({ keysDir: seed.dir, dataDir: seed.dir })
  const seeders = await seedersOf(seed, pepper.id)
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
    for (const each of seeders) each.addAgents(lines, keys, AGENTS_PER_OWNER)
    writeSync(tails, lines)
    if (from === 0) writeFileSync(seed.hotTail, lines.subarray(0, TAIL_LINE))
  }
  closeSync(tails)
  for (const each of seeders) each.finish()
  const db = await openDatabase({ kind: 'sqlite', file: seed.database }, Date.now, EFFECTS)
  await assertSamePepper({ db, pepper })
  await db.close()
  writeFileSync(seed.challenges, challengesOf(realKeys).join('\n'))
}

/** A seeder for each database of a seed, with the schema of its checkout. @param pepper its name */
async function seedersOf({ database, before }: Seed, pepper: string): Promise<Seeder[]> {
  const wanted = [{ database, root: ROOT }, ...(before === null ? [] : [before])]
  const make = async (each: (typeof wanted)[number]) => {
    const { migrateFile, Seeder } = await seedingCodeOf(each.root)
    await migrateFile(each.database, Date.now)
    return new Seeder(each.database, pepper, { bulk: true })
  }
  return Promise.all(wanted.map(make))
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
