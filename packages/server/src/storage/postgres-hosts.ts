import pg from 'pg'

/** How long a host may take to say whether it is the primary. */
const PROBE_MS = 3000
/** Connections that are opened together ask once. */
const KNOWN_FOR_MS = 500

const SEVERAL = /^(postgres(?:ql)?:\/\/(?:[^@/?]*@)?)([^/?@]+)(\/.*)$/

/** `postgres://user@one:5432,two:5432/db` as a URL for each host. */
function urlsOfHosts(url: string): string[] {
  const [, before, hosts, after] = SEVERAL.exec(url) ?? []
  if (hosts === undefined) return [url]
  return hosts.split(',').map((host) => `${before}${host}${after}`)
}

/** Of several hosts the one that takes writes: after a failover it is another. */
export class Hosts {
  readonly #urls: readonly string[]
  #known: { readonly url: Promise<string>; readonly until: number } | null = null

  constructor(url: string) {
    this.#urls = urlsOfHosts(url)
  }

  /** For whoever opens a connection. @throws AggregateError where none of them is the primary */
  primary(): Promise<string> {
    const [only, ...more] = this.#urls
    if (more.length === 0) return Promise.resolve(only as string)
    const now = performance.now()
    if (this.#known === null || this.#known.until < now) {
      const url = Promise.any(this.#urls.map(requirePrimary))
      this.#known = { url, until: now + KNOWN_FOR_MS }
    }
    return this.#known.url
  }
}

async function requirePrimary(url: string): Promise<string> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: PROBE_MS,
    query_timeout: PROBE_MS,
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query('select pg_is_in_recovery() as standby')
    if (rows[0]?.standby !== false) throw new Error('it is a standby')
    return url
  } finally {
    client.end().catch(() => undefined)
  }
}
