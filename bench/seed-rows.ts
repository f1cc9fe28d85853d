import { freemem } from 'node:os'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'

/** Bytes of a line with a tail: 24 letters and the end of the line. */
export const TAIL_LINE = 25
const KEY_BYTES = 32
const ENCODED_KEY_BYTES = 44
const AN_HOUR = 3_600_000
/** Tokens outlive the 10 minutes of the contract: a run takes longer than that. */
const TOKEN_LIFE = 24 * AN_HOUR

/** Writes rows as the service would have written them, in one transaction that waits for no disk. */
export class Seeder {
  readonly #db: DatabaseSync
  readonly #pepper: string
  readonly #at = Date.now() - AN_HOUR
  readonly #insert: Readonly<Record<keyof typeof INSERTS, StatementSync>>
  /** What to execute when all rows are there. */
  readonly #last: readonly string[]
  #seq: number
  #ownerId: number

  /**
   * @param file a database whose schema is up to date and that nothing else has open
   * @param pepper the name of the one that identities are hashed under
   * @param bulk where most of its rows are still to come: its indexes are made when they are there
   */
  constructor(file: string, pepper: string, { bulk }: { readonly bulk: boolean }) {
    this.#pepper = pepper
    this.#db = new DatabaseSync(file, { enableForeignKeyConstraints: false })
    // Random keys touch the indexes all over: where those do not fit, each row would wait for the disk.
    const cacheKib = Math.floor(freemem() / 2048)
    this.#db.exec(
      `PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;
       PRAGMA cache_size = -${cacheKib}; BEGIN`,
    )
    this.#last = bulk ? this.#dropIndexes() : []
    this.#insert = prepared(this.#db)
    this.#seq = this.#highest('events', 'seq')
    this.#ownerId = this.#highest('owners', 'id')
  }

  /**
   * Adds agents as a claim leaves them, and their owners, whose identity was verified in person.
   * @param tails a line each
   * @param keys 32 bytes each
   * @param each how many agents an owner has; the last one may have fewer
   */
  addAgents(tails: Buffer, keys: Buffer, each: number): void {
    const agents = keys.length / KEY_BYTES
    const first = { ...this.#addOwners(Math.ceil(agents / each), each + 1), each }
    this.#run('agents', { ...first, count: agents, tails, keys })
    this.#run('claimed', { ...first, count: agents, tails, encoded: encodeKeys(keys, agents) })
    this.#seq += agents
  }

  /** Adds an owner with a token for each hash, SHA-256 of a token that was issued a moment ago. */
  addTokens(hashes: Buffer): void {
    const count = hashes.length / KEY_BYTES
    const { owner } = this.#addOwners(count, 1)
    const now = Date.now()
    this.#run('tokens', { owner, count, hashes, now, until: now + TOKEN_LIFE })
  }

  /** Leaves the file as the service expects it: in WAL mode, with nothing outside of it. */
  finish(): void {
    for (const sql of this.#last) this.#db.exec(sql)
    this.#db.exec('COMMIT; PRAGMA locking_mode = NORMAL; PRAGMA journal_mode = WAL')
    this.#db.close()
  }

  /** @param stride how many events come from one owner's verification to the next one's */
  #addOwners(count: number, stride: number): { owner: number; seq: number; at: number } {
    const first = { owner: this.#ownerId + 1, seq: this.#seq + 1, at: this.#at }
    this.#run('owners', { owner: first.owner, at: first.at, count })
    this.#run('verifications', { owner: first.owner, at: first.at, count, pepper: this.#pepper })
    this.#run('verified', { ...first, count, stride })
    this.#ownerId += count
    this.#seq += count
    return first
  }

  /** Numbers go in as whole ones: SQLite would divide them with fractions otherwise. */
  #run(name: keyof typeof INSERTS, values: Readonly<Record<string, SQLInputValue>>): void {
    const whole = Object.entries(values).map(([key, value]): [string, SQLInputValue] => [
      key,
      typeof value === 'number' ? BigInt(value) : value,
    ])
    this.#insert[name].run(Object.fromEntries(whole))
  }

  #highest(table: string, column: string): number {
    return Number(this.#db.prepare(`SELECT max(${column}) AS last FROM ${table}`).get()?.last ?? 0)
  }

  /** What SQLite makes of `unique` cannot go. */
  #dropIndexes(): string[] {
    const made = this.#db
      .prepare(`SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL`)
      .all()
    for (const { name } of made) this.#db.exec(`DROP INDEX ${name}`)
    return made.map(({ sql }) => String(sql))
  }
}

/** A statement for many rows: a row by itself costs ten times as much in calls as in work. */
const ROWS = `WITH RECURSIVE row (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM row WHERE i + 1 < $count)`
const TAIL = `CAST(substr($tails, 1 + i * ${TAIL_LINE}, ${TAIL_LINE - 1}) AS TEXT)`
/** An owner's events are one after another: the verification, then the claims. */
const CLAIM_SEQ = '$seq + i + i / $each + 1'

/** What to insert into which table. */
const INSERTS = {
  owners: `owners (id, username, display_name, created_at) ${ROWS}
    SELECT $owner + i, printf('owner-%08d', $owner + i), printf('Owner %08d', $owner + i), $at FROM row`,
  verifications: `identity_verifications (owner_id, provider, subject_hash, pepper_id, assurance,
      country, verified_at, expires_at) ${ROWS}
    SELECT $owner + i, 'in-person', randomblob(32), $pepper, 'substantial', NULL, $at, NULL FROM row`,
  verified: `events (seq, at, type, tail, owner_id, facts) ${ROWS}
    SELECT $seq + i * $stride, $at, 'owner.identity_verified', NULL, $owner + i,
      '{"provider":"in-person","assurance":"substantial"}' FROM row`,
  agents: `agents (seq, tail, public_key, agent_id, owner_id, status, status_reason, status_set_by,
      pair_slot, claimed_at, status_changed_at, updated_at, version, username, display_name, description,
      grade) ${ROWS}
    SELECT ${CLAIM_SEQ}, ${TAIL}, substr($keys, 1 + i * ${KEY_BYTES}, ${KEY_BYTES}), 'main', $owner + i / $each,
      'active', NULL, 'owner', 0, $at, $at, $at, ${CLAIM_SEQ}, NULL, NULL, NULL, 'C' FROM row`,
  claimed: `events (seq, at, type, tail, owner_id, facts) ${ROWS}
    SELECT ${CLAIM_SEQ}, $at, 'agent.claimed', ${TAIL}, $owner + i / $each,
      '{"publicKey":"' || CAST(substr($encoded, 1 + i * ${ENCODED_KEY_BYTES}, ${ENCODED_KEY_BYTES}) AS TEXT) || '"}'
    FROM row`,
  tokens: `claim_tokens (hash, owner_id, created_at, expires_at, used_at, superseded_at) ${ROWS}
    SELECT substr($hashes, 1 + i * 32, 32), $owner + i, $now, $until, NULL, NULL FROM row`,
} as const

function prepared(db: DatabaseSync): Record<keyof typeof INSERTS, StatementSync> {
  const entries = Object.entries(INSERTS).map(([name, sql]) => [
    name,
    db.prepare(`INSERT INTO ${sql}`),
  ])
  return Object.fromEntries(entries)
}

/** In base64, one after another. */
function encodeKeys(keys: Buffer, count: number): Buffer {
  const encoded = Buffer.alloc(count * ENCODED_KEY_BYTES)
  for (let i = 0; i < count; i++) {
    const text = keys.toString('base64', i * KEY_BYTES, (i + 1) * KEY_BYTES)
    encoded.write(text, i * ENCODED_KEY_BYTES, 'latin1')
  }
  return encoded
}
