import { createHash, randomBytes } from 'node:crypto'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrateFile } from '../packages/server/src/storage/sqlite-database.ts'
import { keyPairOf, signText } from './keys.ts'
import type { Scope } from './scope.ts'
import { Seeder } from './seed-rows.ts'

/** Agents whose keys are real, so that they can answer a challenge; those of the others are random bytes. */
const REAL_KEYS = 1000
const CHALLENGES_PER_KEY = 4
const AGENTS_PER_OWNER = 10

/** A database with agents, and the questions that can be asked of it. */
export interface Seed {
  readonly dir: string
  readonly database: string
  /** The tail of each agent, a line each. */
  readonly tails: string
  /** The first of them alone. */
  readonly hotTail: string
  /** A body for the verification of a challenge a line. */
  readonly challenges: string
  /** How long seeding took, or null where the seed was there already. */
  readonly seconds: number | null
}

/** Key pair number `i` of those that have certificates, in every seed. */
export function certifiedKey(i: number) {
  return keyPairOf(`agent ${i}`)
}

/** Seeds a database, or finds the one that an earlier run has left for the same number of agents and schema. */
export async function prepareSeed(
  scope: Scope,
  agents: number,
  { fresh }: { readonly fresh: boolean },
): Promise<Seed> {
  const dir = join(tmpdir(), `countersign-bench-seed-${agents}-${fingerprint()}`)
  if (!fresh && existsSync(dir)) return seedIn(dir, null)
  const draft = mkdtempSync(`${dir}-draft-`)
  const discard = scope.defer(() => rmSync(draft, { recursive: true, force: true }))
  const started = performance.now()
  await fill(seedIn(draft, null), agents)
  const seconds = (performance.now() - started) / 1000
  rmSync(dir, { recursive: true, force: true })
  renameSync(draft, dir)
  await discard()
  return seedIn(dir, seconds)
}

function seedIn(dir: string, seconds: number | null): Seed {
  return {
    dir,
    database: join(dir, 'countersign.db'),
    tails: join(dir, 'tails.txt'),
    hotTail: join(dir, 'hot-tail.txt'),
    challenges: join(dir, 'challenges.jsonl'),
    seconds,
  }
}

/** Of everything that shapes a seed: the migrations and the seeder. */
function fingerprint(): string {
  const migrations = join(import.meta.dirname, '../packages/server/src/storage/migrations')
  const files = readdirSync(migrations).map((name) => join(migrations, name))
  const hash = createHash('sha256')
  for (const file of [...files, import.meta.filename, join(import.meta.dirname, 'seed-rows.ts')]) {
    hash.update(readFileSync(file))
  }
  return hash.digest('hex').slice(0, 12)
}

async function fill(seed: Seed, agents: number): Promise<void> {
  await migrateFile(seed.database, Date.now)
  const seeder = new Seeder(seed.database)
  const realKeys = Math.min(REAL_KEYS, agents)
  const apart = Math.floor(agents / realKeys)
  const tails: string[] = []
  let owner = 0
  for (let i = 0; i < agents; i++) {
    if (i % AGENTS_PER_OWNER === 0) owner = seeder.addOwner()
    const isReal = i % apart === 0 && i / apart < realKeys
    tails.push(seeder.addAgent(owner, isReal ? certifiedKey(i / apart).publicKey : randomBytes(32)))
  }
  seeder.finish()
  writeFileSync(seed.tails, `${tails.join('\n')}\n`)
  writeFileSync(seed.hotTail, `${tails[0]}\n`)
  writeFileSync(seed.challenges, challengesOf(realKeys).join('\n'))
}

function challengesOf(keys: number): string[] {
  return Array.from({ length: keys * CHALLENGES_PER_KEY }, (_, i) => {
    const pair = certifiedKey(i % keys)
    const challenge = randomBytes(32).toString('base64url')
    const publicKey = pair.publicKey.toString('base64')
    return JSON.stringify({ publicKey, challenge, signature: signText(pair, challenge) })
  })
}
