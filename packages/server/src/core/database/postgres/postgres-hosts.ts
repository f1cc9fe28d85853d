import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

/** How long a host may take to say whether it is the primary. */
const PROBE_MS = 1000
/** Once one host has called itself the primary, the others have so long to call themselves a newer one. */
const GRACE_MS = 200
/** Nodes ask for news ten times a second: where nothing at all was heard for so long, it is not one slow statement. */
const SLOW_MS = 500
/** Connections that are opened together ask once. */
const KNOWN_FOR_MS = 500

const SEVERAL = /^(postgres(?:ql)?:\/\/(?:[^@/?]*@)?)([^/?@]+)(\/.*)$/

/** A server begins a new timeline when it is promoted, and the names of its files begin with it, in hexadecimal. */
const ROLE = `select pg_is_in_recovery() as standby, case when not pg_is_in_recovery()
  then ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int end as timeline`
/** For servers that do not tell everyone: a former primary is not recognised then. */
const STANDBY = 'select pg_is_in_recovery() as standby, 0 as timeline'

/** `postgres://user@one:5432,two:5432/db` as a URL for each host. */
export function urlsOfHosts(url: string): string[] {
  const [, before, hosts, after] = SEVERAL.exec(url) ?? []
  if (hosts === undefined) return [url]
  return hosts.split(',').map((host) => `${before}${host}${after}`)
}

/** A connection that was let in. */
interface Met {
  readonly timeline: number
  heardAt: number
}

/**
 * Of several hosts the one that takes writes: after a failover it is another. A former primary that still runs, cut
 * off from the others, calls itself the primary as well: the one on the highest timeline is.
 */
export class Hosts {
  readonly urls: readonly string[]
  #known: { readonly url: Promise<string>; readonly until: number } | null = null
  /** The highest timeline of a primary that has been met. */
  #timeline = 0
  readonly #met = new WeakMap<pg.ClientBase, Met>()
  /** When a connection was lost, or fell silent as all did: whatever took it away took others away as well. */
  #lostAt = Number.NEGATIVE_INFINITY
  /** When any of them has answered last. */
  #heardAt = Number.NEGATIVE_INFINITY

  constructor(url: string) {
    this.urls = urlsOfHosts(url)
  }

  /** For whoever opens a connection. @throws AggregateError where none of them is the primary */
  primary(): Promise<string> {
    const [only, ...more] = this.urls
    if (more.length === 0) return Promise.resolve(only as string)
    const now = performance.now()
    if (this.#known === null || this.#known.until < now)
      this.#known = { url: this.#search(), until: now + KNOWN_FOR_MS }
    return this.#known.url
  }

  /**
   * Lets a connection in that has just been opened.
   * @throws Error where it leads to a standby, or to a primary whose place another has taken
   */
  async admit(client: pg.ClientBase): Promise<void> {
    const timeline = await timelineOf(client)
    this.learn(timeline)
    if (timeline < this.#timeline)
      throw new Error('Another PostgreSQL has taken the place of this primary.')
    this.#met.set(client, { timeline, heardAt: performance.now() })
  }

  /** Whether no newer primary has been met since a connection was let in, and none was lost since it was heard last. */
  isCurrent(client: pg.ClientBase): boolean {
    const met = this.#met.get(client)
    return met !== undefined && met.timeline >= this.#timeline && met.heardAt >= this.#lostAt
  }

  /** A connection has answered. */
  heard(client: pg.ClientBase): void {
    this.#heardAt = performance.now()
    const met = this.#met.get(client)
    if (met !== undefined) met.heardAt = this.#heardAt
  }

  /** A connection is gone. */
  lost(): void {
    this.#lostAt = performance.now()
  }

  /** A connection has not answered in time: lost, or only slow, where others were heard meanwhile. */
  silent(): void {
    if (performance.now() - this.#heardAt > SLOW_MS) this.lost()
  }

  /** @returns whether a newer primary has been met than all before */
  learn(timeline: number): boolean {
    const isNewer = timeline > this.#timeline
    if (isNewer) this.#timeline = timeline
    return isNewer
  }

  async #search(): Promise<string> {
    const found: { readonly url: string; readonly timeline: number }[] = []
    const asked = this.urls.map(async (url) => {
      const timeline = await probe(url)
      this.learn(timeline)
      found.push({ url, timeline })
    })
    await Promise.any(asked)
    await Promise.race([Promise.allSettled(asked), sleep(GRACE_MS, undefined, { ref: false })])
    const current = found.find(({ timeline }) => timeline === this.#timeline)
    if (current === undefined) throw new Error('The primary that was there last is not found.')
    return current.url
  }
}

/** @returns the timeline on which the server at the other end takes writes, or null where it is a standby */
export async function roleOf(client: pg.ClientBase): Promise<number | null> {
  const { rows } = await client.query(ROLE).catch((error) => {
    if (error instanceof pg.DatabaseError) return client.query(STANDBY)
    throw error
  })
  return rows[0]?.standby === false ? (rows[0].timeline as number) : null
}

async function timelineOf(client: pg.ClientBase): Promise<number> {
  const timeline = await roleOf(client)
  if (timeline === null) throw new Error('This PostgreSQL is a standby: the primary is needed.')
  return timeline
}

/** A connection for asking a host what it is, not yet open. */
export function newProbe(url: string): pg.Client {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'countersign-probe',
    connectionTimeoutMillis: PROBE_MS,
    query_timeout: PROBE_MS,
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
