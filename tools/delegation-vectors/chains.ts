import { createHash } from 'node:crypto'
import {
  compressed,
  ed25519Key,
  type Key as IssuerKey,
  p256Key,
  token,
} from '../../packages/sdk/test/certificates/support/certificate-vectors.ts'
import {
  type Header,
  ISSUER,
  type Key,
  keys,
  NOW,
  type Received,
  received,
  SHOP,
  signing,
} from '../signature-vectors/signing.ts'

// Every token is built here, member by member, and signed with OpenSSL, so that the vectors do not depend on the code that they test.

const base64Url = (data: string | Uint8Array) => Buffer.from(data).toString('base64url')
/** SHA-256 in base64url. */
export const digest = (text: string) => createHash('sha256').update(text).digest('base64url')

export const ISSUER_KEYS = { ed25519: ed25519Key('f1'.repeat(32)), p256: p256Key('f2'.repeat(32)) }
export const STRANGER = ed25519Key('f3'.repeat(32))

/** A key that can sign hops and requests. */
export interface Signer {
  readonly seedHex: string
  /** 32 bytes in base64url. */
  readonly x: string
  readonly keyid: string
}

export function signerOf({ seedHex, publicKeyHex, keyid }: Omit<Key, 'did' | 'status'>): Signer {
  return { seedHex, x: Buffer.from(publicKeyHex, 'hex').toString('base64url'), keyid }
}

/** A public key to which nobody has the private key. @param hex 32 bytes */
export function keyOnly(hex: string): Signer {
  const x = Buffer.from(hex, 'hex').toString('base64url')
  return { seedHex: 'd8'.repeat(32), x, keyid: digest(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`) }
}

function delegate(byte: string): Signer {
  const seedHex = byte.repeat(32)
  const { x = '', kid = '' } = ed25519Key(seedHex).jwk
  return { seedHex, x, keyid: kid }
}

export const AGENT = signerOf(keys.agent)
/** The keys of hops 1 to 4. */
const DELEGATES = ['d1', 'd2', 'd3', 'd4'].map(delegate) as [Signer, Signer, Signer, Signer]
export const [FIRST, SECOND, THIRD] = DELEGATES
export const FOREIGN = delegate('d9')

export const UNTIL = NOW + 3_600

/** Entries of the status list: 1 is invalid, 2 is suspended, all others are valid. */
export const ENTRY = { valid: 3, invalid: 1, suspended: 2 }
const LIST_URL = `${ISSUER}/status/1`
const LIST_BYTES = new Uint8Array(32_768)
LIST_BYTES[0] = 0b00100100
export const STATUS_LIST = token(
  'statuslist+jwt',
  {
    sub: LIST_URL,
    iat: NOW - 5,
    exp: NOW + 595,
    ttl: 30,
    status_list: { bits: 2, lst: compressed(LIST_BYTES) },
  },
  ISSUER_KEYS.ed25519,
)

/** What differs from a current certificate of `keys.agent` that allows three hops. */
interface CertificateChange {
  readonly of?: Key
  readonly by?: IssuerKey
  readonly header?: object
  readonly typ?: string
  readonly claims?: object
  readonly idx?: number
}

export function certificate({
  of = keys.agent,
  by = ISSUER_KEYS.ed25519,
  header = {},
  typ = 'dc+sd-jwt',
  claims = {},
  idx = ENTRY.valid,
}: CertificateChange = {}): string {
  const all = {
    iss: ISSUER,
    sub: of.did,
    iat: NOW - 600,
    exp: NOW + 85_800,
    jti: 'AAECAwQFBgcICQoLDA0ODw',
    vct: `${ISSUER}/credentials/agent-certificate`,
    cnf: { jwk: { kty: 'OKP', crv: 'Ed25519', x: signerOf(of).x } },
    status: { status_list: { uri: LIST_URL, idx } },
    identityMethod: 'in-person',
    identityLevel: 'verified',
    assurance: 'high',
    grade: 'B',
    policyVersion: 1,
    keySequence: 2,
    keyChangedAt: '2027-01-01T00:00:00.000Z',
    did_web: `did:web:id.example:agent:${of.did}`,
    maxDelegationDepth: 3,
    ...claims,
  }
  return token(typ, all, by, header)
}

export interface Limits {
  readonly origins?: readonly string[]
  readonly methods?: readonly string[]
  readonly paths?: readonly string[]
  readonly mcp?: readonly string[]
}

/** What a hop states, and what is odd about how. */
export interface Hop {
  readonly to?: Signer
  /** Who signs it. Default: the key before it. */
  readonly by?: Signer
  readonly iat?: unknown
  readonly exp?: unknown
  readonly maxDepth?: unknown
  readonly limits?: object
  readonly nonce?: string
  readonly aud?: string
  readonly sdHash?: string
  /** The protected header, as text. */
  readonly header?: string
  /** Changes the text of the payload before it is signed. */
  readonly payload?: (text: string) => string
  /** Changes the token after it was signed. */
  readonly token?: (text: string) => string
}

export const HEADER = '{"alg":"EdDSA","typ":"kb+sd-jwt+kb"}'
export const ORIGIN: Limits = { origins: [SHOP] }
export const thumbprintUrn = ({ keyid }: Pick<Signer, 'keyid'>) =>
  `urn:ietf:params:oauth:jwk-thumbprint:sha-256:${keyid}`

/** @param before the token before it @param by the key before it @param at its place, from 0 */
function hop(change: Hop, before: string, by: Signer, at: number): string {
  const to = change.to ?? (DELEGATES[at] as Signer)
  const {
    iat = NOW - 60 + at,
    exp = UNTIL,
    maxDepth = 2 - at,
    limits = ORIGIN,
    nonce = 'N'.repeat(21) + at,
    aud = thumbprintUrn(to),
    sdHash = digest(`${before}~`),
    header = HEADER,
  } = change
  const text = JSON.stringify({
    iat,
    aud,
    nonce,
    sd_hash: sdHash,
    delegate_payload: [
      { exp, max_depth: maxDepth, cnf: { jwk: { kty: 'OKP', crv: 'Ed25519', x: to.x } }, limits },
    ],
  })
  const payload = change.payload?.(text) ?? text
  if (change.payload !== undefined && payload === text) throw new Error('the payload is as before')
  const input = `${base64Url(header)}.${base64Url(payload)}`
  const key = ed25519Key((change.by ?? by).seedHex)
  const signed = `${input}.${base64Url(key.sign(Buffer.from(input)))}`
  const token = change.token?.(signed) ?? signed
  if (change.token !== undefined && token === signed) throw new Error('the token is as before')
  return token
}

/** The tokens of a chain, the certificate first. */
export function tokensOf(root: string, hops: readonly Hop[], agent = AGENT): string[] {
  const tokens = [root]
  let by = agent
  for (const [at, each] of hops.entries()) {
    tokens.push(hop(each, tokens.at(-1) as string, by, at))
    by = each.to ?? (DELEGATES[at] as Signer)
  }
  return tokens
}

export const joined = (tokens: readonly string[]) => tokens.map((each) => `${each}~`).join('~')
export const chain = (...hops: Hop[]) => joined(tokensOf(certificate(), hops))

/** How a request with a chain differs from a GET of /orders by the first delegate. */
export interface Use {
  readonly by?: Signer
  /** The agent whose key set the request names. */
  readonly of?: Key
  readonly method?: string
  readonly path?: string
  readonly query?: string
  readonly fields?: readonly Header[]
  readonly signatureAgent?: string
  readonly authority?: string
  readonly nonce?: string
  /** False: the signature does not cover the chain. */
  readonly covered?: boolean
  readonly change?: Partial<Received>
}

let count = 0

/** @param value of the header that carries the chain; null: the request has none */
export function use(value: string | null, change: Use = {}): Received {
  const { by = FIRST, of = keys.agent, fields = [], covered = true } = change
  const { method = 'GET', path = '/orders', query, authority = 'shop.example' } = change
  const { signatureAgent = of.signatureAgent, nonce = `V${String(count++).padStart(21, '0')}` } =
    change
  const chainField: Header[] = value === null ? [] : [['ServiceID-Certificate', value]]
  const isCovered = ([name]: Header) => !/^x[^a-z]/i.test(name)
  const signed = signing({
    key: { ...of, seedHex: by.seedHex, keyid: by.keyid, signatureAgent },
    method,
    path,
    authority,
    ...(query !== undefined && { query }),
    // In the order in which the signature covers them.
    fields: [...fields.filter(isCovered), ...(covered ? chainField : [])],
    params: `;created=${NOW};expires=${NOW + 60};keyid="${by.keyid}";nonce="${nonce}";tag="web-bot-auth"`,
  })
  const further = [...fields.filter((each) => !isCovered(each)), ...(covered ? [] : chainField)]
  const request = received(signed, change.change)
  return { ...request, headers: [...request.headers, ...further] }
}
