import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto'

/** A header field line. */
export type Header = readonly [name: string, value: string]

export const NOW = 1_800_000_000
export const SHOP = 'https://shop.example'
export const ISSUER = 'https://id.example'
const NONCE = 'AAAAAAAAAAAAAAAAAAAAAA'

export interface Key {
  readonly seedHex: string
  readonly publicKeyHex: string
  readonly keyid: string
  /** Null: no agent. */
  readonly did: string | null
  readonly status: string | null
  readonly signatureAgent: string
}

function keyOf(seedHex: string, tail: string, status = 'active'): Key {
  const { x = '' } = createPublicKey(privateKeyOf(seedHex)).export({ format: 'jwk' })
  const jwk = `{"crv":"Ed25519","kty":"OKP","x":"${x}"}`
  return {
    seedHex,
    publicKeyHex: Buffer.from(x, 'base64url').toString('hex'),
    keyid: createHash('sha256').update(jwk).digest('base64url'),
    did: `svc:agent:${tail}`,
    status,
    signatureAgent: `${ISSUER}/agent/${tail}/jwks.json`,
  }
}

/** A key that is no agent's, in a directory. */
function directoryKeyOf(seedHex: string, signatureAgent: string): Key {
  return { ...keyOf(seedHex, ''), did: null, status: null, signatureAgent }
}

function privateKeyOf(seedHex: string) {
  const der = Buffer.from(`302e020100300506032b657004220420${seedHex}`, 'hex')
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
}

/** RFC 9421 appendix B.1.4. */
const PUBLISHED_SEED = '9f8362f87a484a954e6e740c5b4c0e84229139a20aa8ab56ff66586f6a7d29c5'

export const keys = {
  agent: keyOf('01'.repeat(32), '7Xk2mPqR9sTvWyZaBcDeFgHj'),
  other: keyOf('02'.repeat(32), '8Xk2mPqR9sTvWyZaBcDeFgHj'),
  suspended: keyOf('03'.repeat(32), '9Xk2mPqR9sTvWyZaBcDeFgHj', 'suspended'),
  revoked: keyOf('04'.repeat(32), 'AXk2mPqR9sTvWyZaBcDeFgHj', 'revoked'),
  published: keyOf(PUBLISHED_SEED, 'BXk2mPqR9sTvWyZaBcDeFgHj'),
  bot: directoryKeyOf('05'.repeat(32), 'https://bots.example'),
  card: directoryKeyOf('06'.repeat(32), 'https://bots.example/card'),
  rfc9421: directoryKeyOf(PUBLISHED_SEED, 'https://signature-agent.test'),
}

export const digestOf = (body: string) =>
  `sha-256=:${createHash('sha256').update(body).digest('base64')}:`

export const AGENT = '"signature-agent";key="sig1"'

/** What is signed, and how it differs from a plain GET of `/orders`. */
export interface Signing {
  readonly key?: Key
  readonly method?: string
  readonly authority?: string
  readonly path?: string
  readonly query?: string
  /** Covered header fields, in the order in which they are covered. */
  readonly fields?: readonly Header[]
  readonly agent?: string
  /** The component of Signature-Agent, and its value in the base. */
  readonly agentComponent?: readonly [identifier: string, value: string]
  readonly components?: readonly (readonly [identifier: string, value: string])[]
  readonly created?: number
  readonly params?: string
  readonly label?: string
  /** Signs a line break after the base, as a faulty signer does. */
  readonly trailingNewline?: boolean
}

export function signing({
  key = keys.agent,
  method = 'GET',
  authority = 'shop.example',
  path = '/orders',
  query,
  fields = [],
  agent = `sig1="${key.signatureAgent}"`,
  agentComponent = [AGENT, `"${key.signatureAgent}"`],
  created = NOW,
  params = paramsOf(key, created),
  label = 'sig1',
  trailingNewline = false,
  components = [
    ['"@method"', method],
    ['"@authority"', authority],
    ['"@path"', path],
    ...(query === undefined ? [] : [['"@query"', query] as const]),
    ...fields.map(([name, value]) => [`"${name.toLowerCase()}"`, value] as const),
    agentComponent,
  ],
}: Signing) {
  const signatureParams = `(${components.map(([identifier]) => identifier).join(' ')})${params}`
  const lines = components.map(([identifier, value]) => `${identifier}: ${value}`)
  const base = [...lines, `"@signature-params": ${signatureParams}`].join('\n')
  const signed = trailingNewline ? `${base}\n` : base
  const signature = sign(null, Buffer.from(signed), privateKeyOf(key.seedHex)).toString('base64')
  const headers: Header[] = [
    ...fields,
    ['Signature-Agent', agent],
    ['Signature-Input', `${label}=${signatureParams}`],
    ['Signature', `${label}=:${signature}:`],
  ]
  return { base, headers, method, authority, target: path + (query ?? '') }
}

export function paramsOf(
  { keyid }: Key,
  created = NOW,
  expires = created + 60,
  nonce = NONCE,
): string {
  return `;created=${created};expires=${expires};keyid="${keyid}";nonce="${nonce}";tag="web-bot-auth"`
}

export interface Received {
  readonly method: string
  readonly scheme: 'https' | 'http'
  readonly authority: string
  readonly target: string
  readonly headers: readonly Header[]
  /** UTF-8 text; null: no body; absent: not visible. */
  readonly body?: string | null
}

export function received(
  { headers, method, authority, target }: ReturnType<typeof signing>,
  change: Partial<Received> = {},
): Received {
  const scheme = 'https'
  return { method, scheme, authority, target, headers, body: null, ...change }
}
