import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

/** How long a probe of a host may take. */
const PROBE_TIMEOUT_MS = 1000
/** How long to wait, after the first primary is found, for another one with a newer timeline. */
const GRACE_MS = 200
/** Nodes poll ten times a second. If all connections are silent for so long, the cause is not a single slow statement. */
const SILENCE_MS = 500
/** Connections that are opened together share one search for the primary. */
const SEARCH_MAX_AGE_MS = 500

const SEVERAL = /^(postgres(?:ql)?:\/\/(?:[^@/?]*@)?)([^/?@]+)(\/.*)$/

/** Promotion begins a new timeline. The names of write-ahead log files begin with its number, in hexadecimal. */
const ROLE = `select pg_is_in_recovery() as standby, case when not pg_is_in_recovery()
  then ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int end as timeline`
/** Without the right to call `pg_walfile_name`, the timeline stays 0, and a former primary is not recognized. */
const STANDBY = 'select pg_is_in_recovery() as standby, 0 as timeline'

/** `postgres://user@one:5432,two:5432/db` as a URL for each host. */
export function hostUrls(url: string): string[] {
  const [, before, hosts, after] = SEVERAL.exec(url) ?? []
  if (hosts === undefined) return [url]
  return hosts.split(',').map((host) => `${before}${host}${after}`)
}

interface AdmittedConnection {
  readonly timeline: number
  lastResponseAt: number
}

/**
 * Finds the primary among several hosts, and notices when connections to it must be replaced. After a failover, a former
 * primary that still runs also claims to be the primary. The one with the highest timeline is right.
 */
export class Hosts {
  readonly urls: readonly string[]
  #known: { readonly url: Promise<string>; readonly until: number } | null = null
  /** The highest timeline observed so far. */
  #timeline = 0
  readonly #admitted = new WeakMap<pg.ClientBase, AdmittedConnection>()
  /** When a connection was last lost, or all fell silent. Others that were not used since are probably lost as well. */
  #lastLossAt = Number.NEGATIVE_INFINITY
  /** When any connection last responded. */
  #lastResponseAt = Number.NEGATIVE_INFINITY

  constructor(url: string) {
    this.urls = hostUrls(url)
  }

  /** @returns the URL of the primary @throws AggregateError if no host is the primary */
  primary(): Promise<string> {
    const [only, ...more] = this.urls
    if (more.length === 0) return Promise.resolve(only as string)
    const now = performance.now()
    if (this.#known === null || this.#known.until < now)
      this.#known = { url: this.#search(), until: now + SEARCH_MAX_AGE_MS }
    return this.#known.url
  }

  /**
   * Accepts a connection that has just been opened.
   * @throws Error if it leads to a standby or a former primary
   */
  async admit(client: pg.ClientBase): Promise<void> {
    const timeline = await timelineOf(client)
    this.observeTimeline(timeline)
    if (timeline < this.#timeline) throw new Error('Another PostgreSQL has become the primary.')
    this.#admitted.set(client, { timeline, lastResponseAt: performance.now() })
  }

  /** Whether a connection can still be used: no newer primary was observed, and none was lost since its last response. */
  isCurrent(client: pg.ClientBase): boolean {
    const admitted = this.#admitted.get(client)
    if (admitted === undefined || admitted.timeline < this.#timeline) return false
    return admitted.lastResponseAt >= this.#lastLossAt
  }

  /** Call when a connection has responded. */
  recordResponse(client: pg.ClientBase): void {
    this.#lastResponseAt = performance.now()
    const admitted = this.#admitted.get(client)
    if (admitted !== undefined) admitted.lastResponseAt = this.#lastResponseAt
  }

  /** Call when a connection was lost. */
  recordLoss(): void {
    this.#lastLossAt = performance.now()
  }

  /** Call when a query has timed out. Counts as a loss unless another connection has responded recently. */
  recordTimeout(): void {
    if (performance.now() - this.#lastResponseAt > SILENCE_MS) this.recordLoss()
  }

  /** Call with each timeline that a primary reports. @returns whether it is higher than all before */
  observeTimeline(timeline: number): boolean {
    const isNewer = timeline > this.#timeline
    if (isNewer) this.#timeline = timeline
    return isNewer
  }

  async #search(): Promise<string> {
    const found: { readonly url: string; readonly timeline: number }[] = []
    const asked = this.urls.map(async (url) => {
      const timeline = await probe(url)
      this.observeTimeline(timeline)
      found.push({ url, timeline })
    })
    await Promise.any(asked)
    await Promise.race([Promise.allSettled(asked), sleep(GRACE_MS, undefined, { ref: false })])
    const current = found.find(({ timeline }) => timeline === this.#timeline)
    if (current === undefined) throw new Error('The last primary is not found.')
    return current.url
  }
}

/** @returns the timeline of a primary, or null for a standby */
export async function roleOf(client: pg.ClientBase): Promise<number | null> {
  const { rows } = await client.query(ROLE).catch((error) => {
    if (error instanceof pg.DatabaseError) return client.query(STANDBY)
    throw error
  })
  return rows[0]?.standby === false ? (rows[0].timeline as number) : null
}

async function timelineOf(client: pg.ClientBase): Promise<number> {
  const timeline = await roleOf(client)
  if (timeline === null) throw new Error('This PostgreSQL is a standby. The primary is required.')
  return timeline
}

/** A client for `roleOf`, not yet connected. */
export function newProbe(url: string): pg.Client {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'countersign-probe',
    connectionTimeoutMillis: PROBE_TIMEOUT_MS,
    query_timeout: PROBE_TIMEOUT_MS,
  })
  client.on('error', () => undefined)
  return client
}

async function probe(url: string): Promise<number> {
  const client = newProbe(url)
  try {
    await client.connect()
    return await timelineOf(client)
  } finally {
    client.end().catch(() => undefined)
  }
}
