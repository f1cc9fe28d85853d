import { freemem } from 'node:os'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { thumbprintBytes } from '../packages/server/src/secrets/ed25519.ts'

/** Bytes per line: a tail of 24 letters and a newline. */
export const TAIL_LINE = 25
const KEY_BYTES = 32
const ENCODED_KEY_BYTES = 44
const HOUR_MS = 3_600_000
/** Longer than the contract's 10 minutes, because a run takes longer. */
const TOKEN_LIFETIME_MS = 24 * HOUR_MS

/** Writes the rows that the service would have written, in one transaction without fsync. */
export class Seeder {
  readonly #db: DatabaseSync
  readonly #pepper: string
  readonly #at = Date.now() - HOUR_MS
  readonly #insert: Readonly<Record<keyof typeof INSERTS, StatementSync>>
  /** Statements to execute after all rows are written. */
  readonly #last: readonly string[]
  #seq: number
  #ownerId: number

  /**
   * @param file a database with the current schema that no other process has open
   * @param pepper the name of the key that identities are hashed with
   * @param bulk whether most rows are still to be written: then the indexes are created afterwards
   */
  constructor(file: string, pepper: string, { bulk }: { readonly bulk: boolean }) {
    this.#pepper = pepper
    this.#db = new DatabaseSync(file, { enableForeignKeyConstraints: false })
    // Random keys are written all over an index. If it does not fit into memory, each row would wait for the disk.
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
   * Adds claimed agents and their owners, whose identity was verified in person.
   * @param tails one per line
   * @param keys 32 bytes each
   * @param each the number of agents per owner; the last owner may have fewer
   */
  addAgents(tails: Buffer, keys: Buffer, each: number): void {
    const agents = keys.length / KEY_BYTES
    const first = { ...this.#addOwners(Math.ceil(agents / each), each + 1), each }
    const thumbprints = thumbprintsOf(keys, agents)
    this.#run('agents', { ...first, count: agents, tails, keys, thumbprints })
    this.#run('claimed', { ...first, count: agents, tails, encoded: encodeKeys(keys, agents) })
    this.#seq += agents
  }

  /** Adds an owner with a token for each hash (SHA-256), as if it had just been created. */
  addTokens(hashes: Buffer): void {
    const count = hashes.length / KEY_BYTES
    const { owner } = this.#addOwners(count, 1)
    const now = Date.now()
    this.#run('tokens', { owner, count, hashes, now, until: now + TOKEN_LIFETIME_MS })
  }

  /** Closes the file as the service expects it: in WAL mode, with an empty log. */
  finish(): void {
    for (const sql of this.#last) this.#db.exec(sql)
    this.#db.exec('COMMIT; PRAGMA locking_mode = NORMAL; PRAGMA journal_mode = WAL')
    this.#db.close()
  }

  /** @param stride the number of events from one owner's verification to the next owner's */
  #addOwners(count: number, stride: number): { owner: number; seq: number; at: number } {
    const first = { owner: this.#ownerId + 1, seq: this.#seq + 1, at: this.#at }
    this.#run('owners', { owner: first.owner, at: first.at, count })
    this.#run('verifications', { owner: first.owner, at: first.at, count, pepper: this.#pepper })
    this.#run('verified', { ...first, count, stride })
    this.#ownerId += count
    this.#seq += count
    return first
  }

  /** BigInt, because SQLite would otherwise divide floating-point numbers. */
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

  /** SQLite cannot drop the indexes of UNIQUE constraints. */
  #dropIndexes(): string[] {
    const made = this.#db
      .prepare(`SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL`)
      .all()
    for (const { name } of made) this.#db.exec(`DROP INDEX ${name}`)
    return made.map(({ sql }) => String(sql))
  }
}

/** One statement for many rows, because for a single row the call costs ten times as much as the work. */
const ROWS = `WITH RECURSIVE row (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM row WHERE i + 1 < $count)`
const TAIL = `CAST(substr($tails, 1 + i * ${TAIL_LINE}, ${TAIL_LINE - 1}) AS TEXT)`
/** An owner's events are consecutive: the verification, then the claims. */
const CLAIM_SEQ = '$seq + i + i / $each + 1'

/** The table and the columns to insert. */
const INSERTS = {
  owners: `owners (id, username, display_name, created_at) ${ROWS}
    SELECT $owner + i, printf('owner-%08d', $owner + i), printf('Owner %08d', $owner + i), $at FROM row`,
  verifications: `identity_verifications (owner_id, provider, subject_hash, pepper_id, assurance,
      country, verified_at, expires_at) ${ROWS}
    SELECT $owner + i, 'in-person', randomblob(32), $pepper, 'substantial', NULL, $at, NULL FROM row`,
  verified: `events (seq, at, type, tail, owner_id, payload) ${ROWS}
    SELECT $seq + i * $stride, $at, 'owner.identity_verified', NULL, $owner + i,
      '{"provider":"in-person","assurance":"substantial"}' FROM row`,
  agents: `agents (seq, tail, public_key, key_thumbprint, agent_id, owner_id, status, status_reason, status_set_by,
      pair_slot, claimed_at, status_changed_at, updated_at, version, username, display_name, description,
      grade) ${ROWS}
    SELECT ${CLAIM_SEQ}, ${TAIL}, substr($keys, 1 + i * ${KEY_BYTES}, ${KEY_BYTES}),
      substr($thumbprints, 1 + i * ${KEY_BYTES}, ${KEY_BYTES}), 'main', $owner + i / $each,
      'active', NULL, 'owner', 0, $at, $at, $at, ${CLAIM_SEQ}, NULL, NULL, NULL, 'C' FROM row`,
  claimed: `events (seq, at, type, tail, owner_id, payload) ${ROWS}
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

/** 32 bytes for each key. */
function thumbprintsOf(keys: Buffer, count: number): Buffer {
  const thumbprints = Buffer.alloc(count * KEY_BYTES)
  for (let at = 0; at < thumbprints.length; at += KEY_BYTES)
    thumbprints.set(thumbprintBytes(keys.subarray(at, at + KEY_BYTES)), at)
  return thumbprints
}

/** Base64 values, concatenated. */
function encodeKeys(keys: Buffer, count: number): Buffer {
  const encoded = Buffer.alloc(count * ENCODED_KEY_BYTES)
  for (let i = 0; i < count; i++) {
    const text = keys.toString('base64', i * KEY_BYTES, (i + 1) * KEY_BYTES)
    encoded.write(text, i * ENCODED_KEY_BYTES, 'latin1')
  }
  return encoded
}
