import { createHmac, createPrivateKey, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  headerFields,
  type RawRequest,
  readPath,
  readSignatureInput,
  signatureBase,
} from '@countersign/protocol'
import {
  ITEMS,
  ODD_ADDRESSES,
  ODD_COMPONENTS,
  ODD_ITEMS,
  ODD_JSON,
  ODD_TARGETS,
} from './odd-inputs.ts'
import { ROOT } from './service.ts'

/** One input that both languages decide. Texts are well-formed Unicode. */
export type DifferentialCase =
  | {
      readonly kind: 'request'
      readonly request: TextRequest
      readonly rules: Rules | null
      /** In milliseconds since 1970. */
      readonly now: number
    }
  | { readonly kind: 'certificate' | 'staple' | 'list' | 'session'; readonly token: string }

/** With the body as text; null: none; absent: not visible. */
interface TextRequest extends Omit<RawRequest, 'body'> {
  readonly body?: string | null
}

interface Rules {
  readonly profile: 'strict' | 'wba'
  readonly maxLifetimeSeconds: number
}

const read = (name: string) => JSON.parse(readFileSync(join(ROOT, 'vectors', name), 'utf8'))
const REQUESTS = read('http-signatures.json')
const TOKENS = read('certificates.json')
const SESSIONS = read('sessions.json')
const requests: readonly { request: TextRequest; now?: number }[] = [
  ...REQUESTS.valid,
  ...REQUESTS.valid,
  ...REQUESTS.invalid,
]
const ALPHABET = [
  ...'"\\ \t,;=:()?@-_.~/\'+*#%&[]{}<>|^`$!019aAzZé\u017f\u212a\u00a0\u2028\u0000\u007f\n\r\u{1f600}',
]
const RULES: readonly (Rules | null)[] = [
  null,
  { profile: 'wba', maxLifetimeSeconds: 86_400 },
  { profile: 'strict', maxLifetimeSeconds: 86_400 },
]

/** Numbers from 0 to 1, the same with each run (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Random changes, the same with each run. */
export class Mutator {
  readonly #random: () => number

  constructor(seed: number) {
    this.#random = randomOf(seed)
  }

  below(n: number): number {
    return Math.floor(this.#random() * n)
  }

  chance(probability: number): boolean {
    return this.#random() < probability
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T
  }

  /** Replaces, inserts, removes or doubles a character. */
  text(text: string): string {
    const characters = [...text]
    const at = this.below(characters.length + 1)
    const removed = this.pick([0, 1, 1])
    characters.splice(at, removed, ...this.pick([[], [this.pick(ALPHABET)], [this.pick(ALPHABET)]]))
    return characters.join('')
  }
}

/** @param count of cases. Half of them are requests */
export function differentialCases(seed: number, count: number): readonly DifferentialCase[] {
  const mutator = new Mutator(seed)
  return Array.from({ length: count }, (_, i) => {
    const kinds = [
      'request',
      'certificate',
      'request',
      'staple',
      'request',
      'list',
      'request',
    ] as const
    const kind = [...kinds, 'session' as const][i % 8] ?? 'request'
    return kind === 'request' ? requestCase(mutator) : { kind, token: tokenCase(mutator, kind) }
  })
}

function requestCase(mutator: Mutator): DifferentialCase {
  const { request: given, now = REQUESTS.now } = mutator.pick(requests)
  let request: TextRequest = given
  for (let i = mutator.below(3); i < 2; i++) {
    const mutate = mutator.pick([withText, withItem, withItem, withAgent, withPlace, withComponent])
    request = mutate(mutator, request)
  }
  const signed = mutator.chance(0.8) ? resigned(request) : request
  return { kind: 'request', request: signed, rules: mutator.pick(RULES), now }
}

type Mutation = (mutator: Mutator, request: TextRequest) => TextRequest

const withText: Mutation = (mutator, request) => {
  const at = mutator.below(request.headers.length)
  return withHeader(request, at, ([name, value]) =>
    mutator.chance(0.05) ? [mutator.text(name), value] : [name, mutator.text(value)],
  )
}

/** A further parameter in Signature-Input or Signature-Agent. */
const withItem: Mutation = (mutator, request) => {
  const place = mutator.pick(['signature-input', 'signature-input', 'signature-agent'])
  const at = request.headers.findIndex(([name]) => name.toLowerCase() === place)
  const item = mutator.pick(mutator.chance(0.6) ? ITEMS : ODD_ITEMS)
  return withHeader(request, at, ([name, value]) => [
    name,
    mutator.chance(0.2)
      ? value.replace(/;(created|expires)=\d+/, `;$1=${item}`)
      : `${value};${mutator.pick(['x', 'x1', 'a.b', '*', 'type', 'nonce', 'alg'])}${item === '' ? '' : `=${item}`}`,
  ])
}

const withAgent: Mutation = (mutator, request) => {
  const at = request.headers.findIndex(([name]) => name.toLowerCase() === 'signature-agent')
  const address = mutator.pick(ODD_ADDRESSES)
  return withHeader(request, at, ([name, value]) => [
    name,
    value.replace(/"https?:[^"]*"/, `"${address}"`),
  ])
}

const withPlace: Mutation = (mutator, request) => {
  if (mutator.chance(0.6)) return { ...request, target: mutator.pick(ODD_TARGETS) }
  if (mutator.chance(0.3)) return { ...request, method: mutator.pick(['get', 'POST', 'G€T', '']) }
  const hosts = ODD_ADDRESSES.map((each) => each.replace(/^\w*:?\/*([^/?#]*).*$/s, '$1'))
  const authority = mutator.pick([
    ...hosts,
    ...[
      'SHOP.example',
      'shop.example:443',
      'shop.example:0443',
      'shop.example:',
      '\u017fhop.example',
    ],
  ])
  if (mutator.chance(0.5)) return { ...request, authority }
  return { ...request, headers: [...request.headers, ['Host', authority]] }
}

const withComponent: Mutation = (mutator, request) => {
  const at = request.headers.findIndex(([name]) => name.toLowerCase() === 'signature-input')
  const headers: TextRequest['headers'] = [
    ...request.headers,
    ['X-A', mutator.text('a, b')],
    ['Date', 'Fri, 15 Jan 2027 08:00:00 GMT'],
  ]
  const component = mutator.pick(ODD_COMPONENTS)
  return withHeader({ ...request, headers }, at, ([name, value]) => [
    name,
    value.replace('("', `(${component} "`),
  ])
}

function withHeader(
  request: TextRequest,
  at: number,
  change: (line: readonly [string, string]) => readonly [string, string],
): TextRequest {
  return { ...request, headers: request.headers.map((each, i) => (i === at ? change(each) : each)) }
}

/** With a signature of what was changed, as far as it can be read: else nearly all would be refused for their signatures. */
function resigned(request: TextRequest): TextRequest {
  const fields = headerFields(request.headers)
  const input = readSignatureInput(fields, [])
  if (typeof input === 'string') return request
  const key = Object.values<{ keyid: string; seedHex: string }>(REQUESTS.keys).find(
    ({ keyid }) => keyid === input.keyid,
  )
  const origin = `https://${request.authority.toLowerCase().replace(/:443$/, '')}`
  const path = readPath(request.target, origin)
  if (key === undefined || path === null) return request
  try {
    const parts = { method: request.method, origin, fields, ...path }
    const base = signatureBase(parts, input.components, input.params)
    const signature = signed(key.seedHex, Buffer.from(base)).toString('base64')
    const at = request.headers.findIndex(([name]) => name.toLowerCase() === 'signature')
    return withHeader(request, at, ([name]) => [name, `${input.label}=:${signature}:`])
  } catch {
    return request
  }
}

function signed(seedHex: string, message: Uint8Array): Buffer {
  const der = Buffer.from(`302e020100300506032b657004220420${seedHex}`, 'hex')
  return sign(null, message, createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }))
}

/** The seed of the first key of `certificates.json`. */
const ISSUER_SEED = '01'.repeat(32)

const TOKENS_OF = {
  certificate: TOKENS.certificates,
  staple: TOKENS.staples,
  list: TOKENS.statusLists,
  session: SESSIONS.tokens,
} as const

function tokenCase(mutator: Mutator, kind: keyof typeof TOKENS_OF): string {
  const { valid, invalid } = TOKENS_OF[kind] as Record<string, { token: string }[]>
  const { token } = mutator.pick((mutator.chance(0.8) ? valid : invalid) ?? [])
  if (mutator.chance(0.15)) return mutator.text(token)
  const [head = '', body = ''] = token.split('.')
  const isHeader = mutator.chance(0.15)
  // The one key here is Ed25519.
  const [first] = (valid?.[0]?.token ?? '').split('.')
  const payload = Buffer.from(isHeader ? head : body, 'base64url').toString()
  const part = mutatedJson(mutator, payload).toString('base64url')
  const input = isHeader ? `${part}.${body}` : `${mutator.chance(0.9) ? first : head}.${part}`
  if (kind !== 'session') {
    return `${input}.${signed(ISSUER_SEED, Buffer.from(input)).toString('base64url')}`
  }
  const mac = createHmac('sha256', SESSIONS.secrets[0]).update(input).digest('base64url')
  return `${input}.${mac}`
}

/** JSON with another value of a member, with a member more, or broken. @returns its bytes */
function mutatedJson(mutator: Mutator, json: string): Buffer {
  if (mutator.chance(0.2)) return Buffer.from(mutator.text(json))
  const members = [...json.matchAll(/"(\w+)":("[^"]*"|-?[\d.]+|null|true|\[\])/g)]
  const value = mutator.pick(ODD_JSON)
  const member = mutator.pick(members)
  if (member === undefined) return Buffer.from(value)
  const [whole, name] = member
  if (mutator.chance(0.55)) return Buffer.from(json.replace(whole, () => `"${name}":${value}`))
  if (mutator.chance(0.75)) {
    const key = mutator.pick([
      name,
      'later',
      'more',
      'a',
      '__proto__',
      'nbf',
      'feed',
      'log',
      'iss',
      'ttl',
    ])
    return Buffer.from(json.replace(/\}$/, () => `,"${key}":${value}}`))
  }
  return mutator.pick([
    Buffer.from(`\ufeff${json}`),
    Buffer.from(`${json}\u00a0`),
    Buffer.from(` ${json}\n`),
    Buffer.concat([Buffer.from(json), Buffer.from([0xff])]),
    Buffer.from(`[${json}]`),
    Buffer.from(json.replace(/\}$/, ',}')),
    Buffer.from('"text"'),
    Buffer.from(value),
  ])
}
