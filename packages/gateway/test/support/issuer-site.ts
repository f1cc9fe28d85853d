import { createHash, randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { deflateSync } from 'node:zlib'
import { type FeedChange, parseJws, type StatusValue, TOKEN_TYPES } from '@countersign/protocol'
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
  /** The paths that were asked for, without their queries. */
  readonly asked: readonly string[]
  /** By path: overrides an answer while it is set. */
  readonly instead: Map<string, Instead>
  /** Connections of the feed that are open. */
  readonly open: Set<ServerResponse>
  epoch: string
  seq: number
  /** Changes an entry and sends the change, without a head. */
  change(list: number, idx: number, status: StatusValue): FeedChange
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

/** @param now its clock */
export async function startIssuerSite(
  t: Cleanup,
  now: () => number = Date.now,
): Promise<IssuerSite> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const issuer = testIssuer(origin, now)
  const asked: string[] = []
  const instead = new Map<string, Instead>()
  const open = new Set<ServerResponse>()
  let followed = 0
  // Lists exist from the start, so that a snapshot has them.
  issuer.list(1)
  const numbers = new Set([1])

  const site: IssuerSite = {
    issuer,
    origin,
    asked,
    instead,
    open,
    epoch: randomUUID(),
    seq: 10,
    change(list, idx, status) {
      numbers.add(list)
      issuer.setStatus(list, idx, status)
      site.seq += 1
      const change = { seq: site.seq, at: now(), list, idx, status }
      site.send(change)
      return change
    },
    head(claims = {}) {
      const iat = Math.floor(now() / 1000)
      return issuer.sign(TOKEN_TYPES.feedHead, {
        iss: origin,
        iat,
        exp: iat + 600,
        epoch: site.epoch,
        seq: site.seq,
        asOf: now(),
        digest: 'A'.repeat(43),
        ...claims,
      })
    },
    async snapshot() {
      const iat = Math.floor(now() / 1000)
      const { epoch, seq } = site
      const lists = [...numbers].map((list) => ({ list, bytes: issuer.list(list).slice() }))
      const hash = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('base64url')
      const manifest = await issuer.sign(TOKEN_TYPES.snapshot, {
        iss: origin,
        iat,
        exp: iat + 600,
        epoch,
        seq,
        asOf: now(),
        digest: 'A'.repeat(43),
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
    else if (list) response.end(await issuer.statusList(list))
    else if (url.pathname === '/api/v1/snapshot') {
      response.end(JSON.stringify(await site.snapshot()))
    } else if (url.pathname === '/api/v1/feed') {
      if (parseJws(url.searchParams.get('after') ?? '').payload.epoch !== site.epoch) {
        return response.writeHead(410).end()
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' })
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

function close(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(() => resolve()))
}
