import type { NonceOutcome, NonceStore, UsedNonce } from '@countersign/sdk'

/** The binding of the class `CountersignNonces`: the part of a `DurableObjectNamespace` that the store uses. */
export interface DurableObjectNonces {
  idFromName(name: string): unknown
  // biome-ignore lint/suspicious/noExplicitAny: the id is a class of the platform
  get(id: any): { fetch(url: string, init: RequestInit): Promise<Response> }
}

/**
 * A nonce store for Cloudflare's Workers, whose instances share no memory: a Durable Object for each key. Its storage outlives
 * instances, so it knows every nonce from the first request on.
 * @param namespace the binding of `CountersignNonces`, such as `env.NONCES`
 */
export function durableObjectNonceStore(namespace: DurableObjectNonces): NonceStore {
  return {
    async record({ keyid, hash, expiresAt }) {
      const object = namespace.get(namespace.idFromName(keyid))
      const body = JSON.stringify({ hash, expiresAt } satisfies Entry)
      const response = await object.fetch('https://nonces.invalid/', { method: 'POST', body })
      const outcome = await response.text()
      return isOutcome(outcome) ? outcome : 'unchecked'
    },
  }
}

type Entry = Pick<UsedNonce, 'hash' | 'expiresAt'>

const isOutcome = (text: string): text is NonceOutcome =>
  text === 'fresh' || text === 'used' || text === 'share-exceeded'

/** What the class uses of a `DurableObjectState` with SQLite storage. */
interface DurableObjectState {
  readonly storage: {
    readonly sql: {
      exec(query: string, ...values: unknown[]): { toArray(): Record<string, unknown>[] }
    }
    getAlarm(): Promise<number | null>
    setAlarm(at: number): Promise<void>
  }
}

/** As many unexpired nonces of one key as a store in memory has. */
const MAX_ROWS = 12_500

/**
 * The Durable Object of `durableObjectNonceStore`: the nonces of one key. Export it from the Worker, and declare it with
 * `new_sqlite_classes`.
 */
export class CountersignNonces {
  readonly #storage: DurableObjectState['storage']

  constructor(state: DurableObjectState) {
    this.#storage = state.storage
    this.#storage.sql.exec(
      'create table if not exists nonces (hash text primary key, expires_at integer not null) without rowid',
    )
    this.#storage.sql.exec('create index if not exists nonces_expiry on nonces (expires_at)')
  }

  /** Answers `durableObjectNonceStore` only: no other Worker has the binding. */
  async fetch(request: Request): Promise<Response> {
    const { hash, expiresAt } = (await request.json()) as Entry
    const outcome = this.#record(hash, expiresAt)
    // The platform holds the response back until both are on disk.
    if (outcome === 'fresh' && (await this.#storage.getAlarm()) === null) {
      await this.#storage.setAlarm(expiresAt)
    }
    return new Response(outcome)
  }

  async alarm(): Promise<void> {
    this.#deleteExpired()
    const [next] = this.#storage.sql.exec('select min(expires_at) as at from nonces').toArray()
    if (typeof next?.at === 'number') await this.#storage.setAlarm(next.at + ALARM_INTERVAL_MS)
  }

  #record(hash: string, expiresAt: number): NonceOutcome {
    const { sql } = this.#storage
    const known = sql.exec('select 1 from nonces where hash = ?', hash).toArray()
    if (known.length > 0) return 'used'
    if (this.#count() >= MAX_ROWS) this.#deleteExpired()
    if (this.#count() >= MAX_ROWS) return 'share-exceeded'
    const inserted = sql
      .exec(
        'insert into nonces (hash, expires_at) values (?, ?) on conflict do nothing returning hash',
        hash,
        expiresAt,
      )
      .toArray()
    return inserted.length === 1 ? 'fresh' : 'used'
  }

  #count(): number {
    const [row] = this.#storage.sql.exec('select count(*) as count from nonces').toArray()
    return Number(row?.count)
  }

  #deleteExpired(): void {
    this.#storage.sql.exec('delete from nonces where expires_at < ?', Date.now())
  }
}

/** At most one alarm in this time, in milliseconds: Cloudflare charges for each. */
const ALARM_INTERVAL_MS = 10_000
