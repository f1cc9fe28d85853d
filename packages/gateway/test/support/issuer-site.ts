import { createHash, randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { deflateSync } from 'node:zlib'
import {
  chainAfter,
  chainStart,
  encodeBase64Url,
  type FeedChange,
  parseJws,
  type StatusValue,
  TOKEN_TYPES,
} from '@countersign/protocol'
import { refusal } from '../../../../test/support/impostor.ts'
import type { Cleanup } from '../../../../test/support/service.ts'
import { type TestIssuer, testIssuer } from '../../../../test/support/test-issuer.ts'
import { until } from '../../../../test/support/until.ts'

/** What an issuer does with a request, instead of answering it properly. */
export type Instead = (request: IncomingMessage, response: ServerResponse) => unknown

/** An issuer of certificates with its status lists, its feed and its snapshot, on a real server. */
export interface IssuerSite {
  readonly issuer: TestIssuer
  readonly origin: string
  /** Where it is reached: its origin, unless it has another name. */
  readonly base: string
  /** The paths that were asked for, without their queries. */
  readonly asked: readonly string[]
  /** By path: overrides an answer while it is set. */
  readonly instead: Map<string, Instead>
  /** Connections of the feed that are open. */
  readonly open: Set<ServerResponse>
  readonly epoch: string
  /** All changes of the epoch. */
  readonly changes: readonly FeedChange[]
  /** The number of the newest change. */
  readonly n: number
  /** The place of the newest change. */
  readonly feed: { readonly epoch: string; readonly n: number }
  /** Begins another epoch, without changes. */
  beginEpoch(): void
  /** Changes an entry and sends the change, without a head. */
  change(list: number, idx: number, status: StatusValue): FeedChange
  /** Changes an entry and sends nothing. */
  changeUnsent(list: number, idx: number, status: StatusValue): FeedChange
  /** The newest changes and a head, as `/api/v1/feed/latest` answers. */
  latest(count?: number): Promise<string>
  /** Streams are refused while it is false. */
  hasPlaces: boolean
  /** Signs a head of now. */
  head(claims?: Readonly<Record<string, unknown>>): Promise<string>
  snapshot(): Promise<{ manifest: string; head: string; lists: { list: number; lst: string }[] }>
  /** Writes a line to every open feed. */
  send(value: unknown): void
  /** Sends a head to every open feed. */
  sendHead(): Promise<void>
  /** Waits until a gateway follows the feed. */
  untilFollowed(times?: number): Promise<void>
  /** Ends all connections and answers nobody. */
  stop(): Promise<void>
}

/**
 * @param now its clock
 * @param name its origin, if that is not its address
 */
export async function startIssuerSite(
  t: Cleanup,
  now: () => number = Date.now,
  name: string | null = null,
): Promise<IssuerSite> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const origin = name ?? base
  const issuer = testIssuer(origin, now)
  const asked: string[] = []
  const instead = new Map<string, Instead>()
  const open = new Set<ServerResponse>()
  let followed = 0
  const history = newHistory(origin)
  // Lists exist from the start, so that a snapshot has them.
  issuer.list(1)
  const numbers = new Set([1])

  const site: IssuerSite = {
    issuer,
    origin,
    base,
    asked,
    instead,
    open,
    hasPlaces: true,
    get epoch() {
      return history.epoch
    },
    get changes() {
      return history.changes
    },
    get n() {
      return history.changes.length
    },
    get feed() {
      return { epoch: history.epoch, n: history.changes.length }
    },
    beginEpoch: () => history.begin(),
    changeUnsent(list, idx, status) {
      numbers.add(list)
      issuer.setStatus(list, idx, status)
      return history.add({ list, idx, status })
    },
    change(list, idx, status) {
      const change = site.changeUnsent(list, idx, status)
      site.send(change)
      return change
    },
    async latest(count = 64) {
      const lines: unknown[] = [...history.changes.slice(-count), { head: await site.head() }]
      return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
    },
    head(claims = {}) {
      const iat = Math.floor(now() / 1000)
      return issuer.sign(TOKEN_TYPES.feedHead, {
        iss: origin,
        iat,
        exp: iat + 600,
        ...history.position(),
        asOf: now(),
        mark: 'A'.repeat(70),
        ...claims,
      })
    },
    async snapshot() {
      const iat = Math.floor(now() / 1000)
      const lists = [...numbers].map((list) => ({ list, bytes: issuer.list(list).slice() }))
      const hash = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('base64url')
      const manifest = await issuer.sign(TOKEN_TYPES.snapshot, {
        iss: origin,
        iat,
        exp: iat + 600,
        ...history.position(),
        asOf: now(),
        lists: lists.map(({ list, bytes }) => ({ list, hash: hash(bytes) })),
      })
      return {
        manifest,
        head: await site.head(),
        lists: lists.map(({ list, bytes }) => ({
          list,
          lst: deflateSync(bytes).toString('base64url'),
        })),
      }
    },
    send(value) {
      for (const each of open) each.write(`data: ${JSON.stringify(value)}\n\n`)
    },
    async sendHead() {
      site.send({ head: await site.head() })
    },
    untilFollowed: (times = 1) => until(async () => followed >= times && open.size > 0),
    stop: () => close(server),
  }
  server.on('request', async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(String(request.url), origin)
    asked.push(url.pathname)
    const override = instead.get(url.pathname)
    if (override !== undefined) return override(request, response)
    const list = Number(/^\/status\/(\d+)$/.exec(url.pathname)?.[1])
    if (url.pathname === '/.well-known/jwks.json') response.end(JSON.stringify(issuer.keySet()))
    else if (list) response.end(await issuer.statusList(list, { feed: site.feed }))
    else if (url.pathname === '/api/v1/snapshot') {
      response.end(JSON.stringify(await site.snapshot()))
    } else if (url.pathname === '/api/v1/feed/latest') {
      response.end(await site.latest())
    } else if (url.pathname === '/api/v1/feed') {
      const cursor = parseJws(url.searchParams.get('after') ?? '').payload
      if (cursor.epoch !== site.epoch) return response.writeHead(410).end()
      const missed = history.changes.slice(cursor.n as number)
      if (request.headers.accept !== 'text/event-stream') {
        const lines: unknown[] = [...missed, { head: await site.head() }]
        return response.end(lines.map((line) => JSON.stringify(line)).join('\n'))
      }
      if (!site.hasPlaces) return response.writeHead(503).end()
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const line of missed) response.write(`data: ${JSON.stringify(line)}\n\n`)
      response.write(`data: ${JSON.stringify({ head: await site.head() })}\n\n`)
      open.add(response)
      followed += 1
      response.once('close', () => open.delete(response))
    } else {
      response.writeHead(404, { 'content-type': 'application/json' })
      response.end(JSON.stringify(refusal('NOT_FOUND')))
    }
  })
  t.after(() => close(server))
  return site
}

/** The changes of an issuer, and what its heads state. */
function newHistory(origin: string) {
  let epoch = randomUUID()
  let changes: FeedChange[] = []
  let chain = chainStart(origin, epoch)
  return {
    get epoch() {
      return epoch
    },
    get changes() {
      return changes
    },
    begin() {
      epoch = randomUUID()
      changes = []
      chain = chainStart(origin, epoch)
    },
    add(change: Omit<FeedChange, 'n'>): FeedChange {
      const line = { n: changes.length + 1, ...change }
      chain = chainAfter(chain, line)
      changes.push(line)
      return line
    },
    position: () => ({ epoch, n: changes.length, chain: encodeBase64Url(chain) }),
  }
}

function close(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(() => resolve()))
}
