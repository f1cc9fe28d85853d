import { Agent, get } from 'node:http'
import { IssuerFollower } from '../packages/gateway/src/issuers/issuer-follower.ts'

/**
 * node follower-load.ts <address> <issuer> <count>: followers that ask as gateways without a stream do, and poll the list of
 * their certificate as well. A few verify what they get, as gateways do; the others only read it, so that this process does not
 * become the bottleneck. Told a change, it answers when all of them know it.
 */
const [base = '', issuer = '', count = '1'] = process.argv.slice(2)
const VERIFYING = 20
const POLL_MS = 5000
const LIST_MS = 30_000
const KEYS_MS = 60_000

export interface Counts {
  readonly sent: number
  readonly failed: number
}

const agent = new Agent({ keepAlive: true, maxSockets: 256 })
let sent = 0
let failed = 0
let wanted: { readonly list: number; readonly idx: number; readonly status: number } | null = null
let missing = new Set<unknown>()

/** @returns the body; an empty one if the request failed, which is counted */
function ask(path: string, accept: string): Promise<string> {
  sent += 1
  return new Promise((resolve) => {
    const fail = () => {
      failed += 1
      resolve('')
    }
    const headers = { accept, 'accept-encoding': 'gzip' }
    get(`${base}${path}`, { agent, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk) => chunks.push(chunk)).on('error', fail)
      response.on('end', () =>
        response.statusCode === 200 ? resolve(Buffer.concat(chunks).toString('latin1')) : fail(),
      )
    }).on('error', fail)
  })
}

function knows(follower: unknown): void {
  if (!missing.delete(follower) || missing.size > 0) return
  process.send?.(performance.timeOrigin + performance.now())
}

class Follower {
  #known = 0
  #cursor = ''

  async start(list: number): Promise<void> {
    await ask('/.well-known/jwks.json', 'application/json')
    await ask('/api/v1/snapshot', 'application/json')
    await this.#poll()
    setInterval(() => this.#poll(), POLL_MS * (0.9 + Math.random() / 5))
    setInterval(() => ask(`/status/${list}`, 'application/statuslist+jwt'), LIST_MS)
    setInterval(() => ask('/.well-known/jwks.json', 'application/json'), KEYS_MS)
  }

  async #poll(): Promise<void> {
    let lines = linesOf(await ask('/api/v1/feed/latest', 'application/x-ndjson'))
    const first = lines[0]?.n
    if (this.#cursor !== '' && first !== undefined && first > this.#known + 1) {
      lines = linesOf(await ask(`/api/v1/feed?after=${this.#cursor}`, 'application/x-ndjson'))
    }
    for (const line of lines) {
      if (line.n !== undefined) this.#known = Math.max(this.#known, line.n)
      if (line.head !== undefined) this.#cursor = line.head
      const isWanted =
        wanted?.list === line.list && wanted?.idx === line.idx && wanted?.status === line.status
      if (isWanted) knows(this)
    }
  }
}

interface Line {
  readonly n?: number
  readonly list?: number
  readonly idx?: number
  readonly status?: number
  readonly head?: string
}

function linesOf(text: string): Line[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

/** These have no stream, as if all places were taken. */
function startVerifying(): IssuerFollower[] {
  const send = globalThis.fetch
  globalThis.fetch = async (input, init) => {
    const isStream = new Headers(init?.headers).get('accept') === 'text/event-stream'
    if (isStream) return new Response(null, { status: 503 })
    sent += 1
    return send(input, init)
  }
  const elapsed = () => performance.now()
  return Array.from({ length: VERIFYING }, () => {
    const follower = new IssuerFollower({ issuer, base, jwks: null, elapsed, now: Date.now })
    follower.onRestricted((entry) => {
      if (wanted !== null && entry === `${wanted.list}:${wanted.idx}`) knows(follower)
    })
    return follower
  })
}

const verifying = startVerifying()
const simulated = Array.from({ length: Number(count) - VERIFYING }, () => new Follower())

process.on('message', async (message: 'stop' | 'counts' | { start: number } | typeof wanted) => {
  if (message === 'stop') process.exit(0)
  if (message === 'counts') return process.send?.({ sent, failed } satisfies Counts)
  if (message === null) return
  if ('start' in message) {
    const starts = simulated.map(
      (each) =>
        new Promise<void>((resolve) =>
          setTimeout(() => each.start(message.start).then(resolve), Math.random() * POLL_MS),
        ),
    )
    await Promise.all([...starts, ...verifying.map((each) => each.ready)])
    return process.send?.('ready')
  }
  wanted = message
  missing = new Set<unknown>([...simulated, ...verifying])
  for (const each of verifying)
    each.remember(message.list, message.idx, `${message.list}:${message.idx}`)
  process.send?.('armed')
})
