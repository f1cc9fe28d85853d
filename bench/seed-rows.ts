import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'

const ALPHABET = Buffer.from('123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz')
const TAIL_LENGTH = 24
const AN_HOUR = 3_600_000
/** Tokens outlive the 10 minutes of the contract: a run takes longer than that. */
const TOKEN_LIFE = 24 * AN_HOUR

/** Writes rows as the service would have written them, in one transaction that waits for no disk. */
export class Seeder {
  readonly #db: DatabaseSync
  readonly #insert: ReturnType<typeof statements>
  readonly #at = Date.now() - AN_HOUR
  #seq: number
  #ownerId: number

  /** @param file a database whose schema is up to date and that nothing else has open */
  constructor(file: string) {
    this.#db = new DatabaseSync(file)
    this.#db.exec(
      'PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000; BEGIN',
    )
    this.#insert = statements(this.#db)
    this.#seq = this.#last('events', 'seq')
    this.#ownerId = this.#last('owners', 'id')
  }

  /** An owner whose identity was verified in person. @returns its id */
  addOwner(): number {
    this.#ownerId += 1
    const id = this.#ownerId
    const name = String(id).padStart(8, '0')
    this.#insert.owner.run(id, `owner-${name}`, `Owner ${name}`, this.#at)
    this.#insert.verification.run(id, randomBytes(32), this.#at)
    this.#addEvent(
      'owner.identity_verified',
      null,
      id,
      '{"provider":"in-person","assurance":"substantial"}',
    )
    return id
  }

  /** An agent as a claim leaves it. @returns its tail */
  addAgent(ownerId: number, publicKey: Buffer): string {
    const tail = randomTail()
    const seq = this.#addEvent('agent.claimed', tail, ownerId, '{"status":"active"}')
    this.#insert.agent.run({ seq, tail, key: publicKey, owner: ownerId, at: this.#at })
    return tail
  }

  /** @param hash SHA-256 of a token that was issued a moment ago */
  addToken(ownerId: number, hash: Buffer): void {
    const now = Date.now()
    this.#insert.token.run(hash, ownerId, now, now + TOKEN_LIFE)
  }

  /** Leaves the file as the service expects it: in WAL mode, with nothing outside of it. */
  finish(): void {
    this.#db.exec('COMMIT; PRAGMA journal_mode = WAL')
    this.#db.close()
  }

  #addEvent(type: string, tail: string | null, ownerId: number, facts: string): number {
    this.#seq += 1
    this.#insert.event.run(this.#seq, this.#at, type, tail, ownerId, facts)
    return this.#seq
  }

  #last(table: string, column: string): number {
    return Number(this.#db.prepare(`SELECT max(${column}) AS last FROM ${table}`).get()?.last ?? 0)
  }
}

function statements(db: DatabaseSync) {
  return {
    owner: db.prepare(
      'INSERT INTO owners (id, username, display_name, created_at) VALUES (?, ?, ?, ?)',
    ),
    verification: db.prepare(
      `INSERT INTO identity_verifications (owner_id, provider, subject_hash, pepper_id, assurance, country,
         verified_at, expires_at)
       VALUES (?, 'in-person', ?, 'bench', 'substantial', NULL, ?, NULL)`,
    ),
    agent: db.prepare(
      `INSERT INTO agents (seq, tail, public_key, agent_id, owner_id, status, status_reason, status_set_by,
         pair_slot, claimed_at, status_changed_at, updated_at, version, username, display_name, description,
         grade)
       VALUES ($seq, $tail, $key, 'main', $owner, 'active', NULL, 'owner', 0, $at, $at, $at, $seq, NULL, NULL, NULL,
         'C')`,
    ),
    event: db.prepare(
      'INSERT INTO events (seq, at, type, tail, owner_id, facts) VALUES (?, ?, ?, ?, ?, ?)',
    ),
    token: db.prepare(
      `INSERT INTO claim_tokens (hash, owner_id, created_at, expires_at, used_at, superseded_at)
       VALUES (?, ?, ?, ?, NULL, NULL)`,
    ),
  }
}

/** A little biased, which no measurement minds. */
function randomTail(): string {
  const bytes = randomBytes(TAIL_LENGTH)
  for (let i = 0; i < TAIL_LENGTH; i++) {
    bytes[i] = ALPHABET[(bytes[i] as number) % ALPHABET.length] as number
  }
  return bytes.toString('latin1')
}
