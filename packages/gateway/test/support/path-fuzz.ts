import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import type { PolicyInput } from '../../src/policy/policy.ts'

/** A handler of a site, and the route of the policy that is about it. */
interface Handler {
  /** Decoded, as applications register it. */
  readonly path: string
  readonly route: string
}

/** Handlers that no request may reach. */
export const CLOSED: readonly Handler[] = [
  { path: '/admin/users', route: '/admin/*' },
  { path: "/it's/x", route: "/it's/*" },
  { path: '/a:b/x', route: '/a:b/*' },
  { path: '/me@home/x', route: '/me@home/*' },
  { path: '/$(a)!/x', route: '/$(a)!/*' },
  { path: '/k=v,w&z/x', route: '/k=v,w&z/*' },
  { path: '/a+b/x', route: '/a+b/*' },
  { path: '/a b/x', route: '/a%20b/*' },
  { path: '/café/x', route: '/caf%C3%A9/*' },
  { path: '/t~u_v-w/x.y', route: '/t~u_v-w/x.y' },
]

/** Handlers that everybody may reach. */
export const OPEN: readonly Handler[] = [
  { path: '/open/x', route: '/open/*' },
  { path: '/free', route: '/free' },
  { path: '/so!/x', route: '/so!/*' },
]

export const HANDLERS: readonly Handler[] = [...CLOSED, ...OPEN]

/** The id of a handler, which the site sends in X-Handler. */
export function idOf(handler: Handler): string {
  return String(HANDLERS.indexOf(handler))
}

const routes = (handlers: readonly Handler[], none: 'allow' | 'deny') =>
  handlers.map(({ route }) => ({ path: route, levels: { none } }))

/** Policies under which the closed handlers are denied: by their own rule, and by the rule for everything else. */
export const POLICIES: Readonly<Record<string, PolicyInput>> = {
  'closed by routes': { levels: { none: 'allow' }, routes: routes(CLOSED, 'deny') },
  'open by routes': { levels: { none: 'deny' }, routes: routes(OPEN, 'allow') },
}

type Random = () => number

/** Random numbers from a seed, from 0 up to 1 (mulberry32). */
function randomFrom(seed: number): Random {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const PIECES = [
  ...['//', '/./', '/x/../', '/../', '/.', '/..', '/%2e/', '/%2e%2e/', '/..;/', ';', ';a=b', '.'],
  ...[
    '\\',
    '%5c',
    '%2f',
    '%252f',
    '%c0%af',
    '%e0%80%af',
    '%u002f',
    '%ef%bc%8f',
    '%00',
    '%09',
    '%0a',
  ],
  ...[
    '%20',
    '+',
    '#',
    '?',
    '%3f',
    '%23',
    '%3b',
    '%',
    '%%',
    '%2',
    '*',
    ':',
    '@',
    '!',
    "'",
    '"',
    '[',
    '|',
  ],
]
const PREFIXES = [
  'http://shop.example',
  '/',
  '//',
  '/\\',
  '/.',
  '/open/..',
  '/open/%2e%2e',
  '/free/../',
]
const SUFFIXES = [
  '/',
  '/.',
  '/..',
  '.json',
  '%20',
  '?x=/open/x',
  '#/open/x',
  ';',
  '%2f',
  '%00',
  '%3f',
]

/** A target that some server may read as the path of a handler. */
function mutated(random: Random): string {
  const pick = <T>(values: readonly T[]) => values[Math.floor(random() * values.length)] as T
  const hex = (byte: number) => {
    const digits = byte.toString(16).padStart(2, '0')
    return `%${random() < 0.5 ? digits : digits.toUpperCase()}`
  }
  // Bytes as Latin-1, so that characters beyond ASCII can be sent raw.
  let target = Buffer.from(pick(HANDLERS).path).toString('latin1')
  const steps: readonly (() => string)[] = [
    () => replaceAt((code) => hex(code)),
    () => replaceAt((code) => hex(code).replace('%', '%25')),
    () => replaceAt((code) => `${hex(0xc0 | (code >> 6))}${hex(0x80 | (code & 63))}`),
    () => replaceAt((code) => String.fromCharCode(code ^ 32)),
    () => replaceAt((code) => String.fromCharCode(code) + pick(PIECES)),
    () => target.replace('/', () => pick(PIECES)),
    () => [...target].map((each) => (/[\w/]/.test(each) ? each : hex(each.charCodeAt(0)))).join(''),
    () => pick(PREFIXES) + target,
    () => target + pick(SUFFIXES),
  ]
  const replaceAt = (by: (code: number) => string) => {
    const at = Math.floor(random() * target.length)
    return target.slice(0, at) + by(target.charCodeAt(at)) + target.slice(at + 1)
  }
  for (let i = 0; i < 1 + Math.floor(random() * 3); i++) target = pick(steps)()
  // Only what fits into a request line; spaces and what lies beyond ASCII are mostly encoded, as clients do.
  const whole = random() < 0.9
  return target.replace(/[^\x21-\x7e]/g, (each) =>
    whole || each <= ' ' || each === '\x7f' ? hex(each.charCodeAt(0)) : each,
  )
}

export interface FuzzOptions {
  /** How many requests. */
  readonly requests: number
  readonly seed: number
}

/** How many requests; `FUZZ_REQUESTS` and `FUZZ_SEED` of the environment overrule. */
export function fuzzOptions(requests: number): FuzzOptions {
  const { FUZZ_REQUESTS = requests, FUZZ_SEED = 13 } = process.env
  return { requests: Number(FUZZ_REQUESTS), seed: Number(FUZZ_SEED) }
}

const CONCURRENCY = 16

/**
 * Sends targets that servers read in different ways. Fails if one of them reaches a closed handler, or if the requests
 * were without effect: none refused, or none admitted to an open handler.
 */
export async function fuzzPaths(url: string, { requests, seed }: FuzzOptions): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY })
  const random = randomFrom(seed)
  const closed = new Set(CLOSED.map(idOf))
  const seen = { refused: 0, open: 0 }
  let left = requests
  const client = async () => {
    while (left-- > 0) {
      const method = random() < 0.8 ? 'GET' : 'POST'
      const target = mutated(random)
      const { status, handler } = await send(agent, url, method, target)
      if (status === 401) seen.refused += 1
      assert.ok(!closed.has(handler), `${method} ${target} reached ${HANDLERS[+handler]?.path}`)
      if (handler !== '') seen.open += 1
    }
  }
  try {
    await Promise.all(Array.from({ length: CONCURRENCY }, client))
  } finally {
    agent.destroy()
  }
  assert.ok(seen.refused > 0 && seen.open > 0, JSON.stringify(seen))
}

/** Without a handler: an empty text. A server that closes the connection instead of answering has reached none. */
function send(agent: Agent, url: string, method: string, target: string) {
  return new Promise<{ status: number; handler: string }>((resolve) => {
    const { hostname, port } = new URL(url)
    request({ agent, hostname, port, method, path: target, headers: { host: 'shop.example' } })
      .once('response', (response) => {
        response.resume()
        const handler = response.headers['x-handler'] ?? ''
        response.once('close', () =>
          resolve({ status: response.statusCode ?? 0, handler: String(handler) }),
        )
      })
      .once('error', () => resolve({ status: 0, handler: '' }))
      .end()
  })
}
