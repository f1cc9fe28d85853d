import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto'
import { writeFileSync } from 'node:fs'

// npx node tools/write-signature-vectors.ts: writes vectors/http-signatures.json. It builds every signature base itself, line by line,
// and signs with OpenSSL, so that the vectors do not depend on the code that they test.

const NOW = 1_800_000_000
const SHOP = 'https://shop.example'
const ISSUER = 'https://id.example'
const NONCE = 'AAAAAAAAAAAAAAAAAAAAAA'

type Header = [name: string, value: string]

interface Key {
  readonly seedHex: string
  readonly publicKeyHex: string
  readonly keyid: string
  readonly did: string
  readonly status: string
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

function privateKeyOf(seedHex: string) {
  const der = Buffer.from(`302e020100300506032b657004220420${seedHex}`, 'hex')
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
}

const keys = {
  agent: keyOf('01'.repeat(32), '7Xk2mPqR9sTvWyZaBcDeFgHj'),
  other: keyOf('02'.repeat(32), '8Xk2mPqR9sTvWyZaBcDeFgHj'),
  suspended: keyOf('03'.repeat(32), '9Xk2mPqR9sTvWyZaBcDeFgHj', 'suspended'),
  revoked: keyOf('04'.repeat(32), 'AXk2mPqR9sTvWyZaBcDeFgHj', 'revoked'),
  // RFC 9421 appendix B.1.4.
  published: keyOf(
    '9f8362f87a484a954e6e740c5b4c0e84229139a20aa8ab56ff66586f6a7d29c5',
    'BXk2mPqR9sTvWyZaBcDeFgHj',
  ),
}

const digestOf = (body: string) => `sha-256=:${createHash('sha256').update(body).digest('base64')}:`

const AGENT = '"signature-agent";key="sig1"'

/** What is signed, and how it differs from a plain GET of `/orders`. */
interface Signing {
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
}

function signing({
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
  const signature = sign(null, Buffer.from(base), privateKeyOf(key.seedHex)).toString('base64')
  const headers: Header[] = [
    ...fields,
    ['Signature-Agent', agent],
    ['Signature-Input', `${label}=${signatureParams}`],
    ['Signature', `${label}=:${signature}:`],
  ]
  return { base, headers, method, authority, target: path + (query ?? '') }
}

function paramsOf({ keyid }: Key, created = NOW, expires = created + 60, nonce = NONCE): string {
  return `;created=${created};expires=${expires};keyid="${keyid}";nonce="${nonce}";tag="web-bot-auth"`
}

interface Received {
  readonly method: string
  readonly scheme: 'https' | 'http'
  readonly authority: string
  readonly target: string
  readonly headers: readonly Header[]
  /** UTF-8 text; null: no body; absent: not visible. */
  readonly body?: string | null
}

function received(
  { headers, method, authority, target }: ReturnType<typeof signing>,
  change: Partial<Received> = {},
): Received {
  const scheme = 'https'
  return { method, scheme, authority, target, headers, body: null, ...change }
}

const get = signing({})
const body = '{"item":1}'
const json: Header = ['Content-Type', 'application/json']
const digested = (text: string): Header => ['Content-Digest', digestOf(text)]
const post = signing({ method: 'POST', fields: [digested(body), json] })
const [, agentHeader, inputHeader, signatureHeader] = [null, ...get.headers] as [
  null,
  Header,
  Header,
  Header,
]
const withHeaders = (...headers: Header[]) =>
  received(get, { headers: [...get.headers, ...headers] })
const replacing = (...headers: Header[]) => received(get, { headers })
const id: Header = ['ServiceID', keys.agent.did]
const otherTag = '("@method");created=1;keyid="k";tag="other"'
const at = (path: string, query?: string) =>
  signing({ path, ...(query !== undefined && { query }) })
const legacy = signing({
  agent: '"https://agent.example"',
  agentComponent: ['"signature-agent"', '"https://agent.example"'],
})
const origin = signing({
  agent: 'sig1="https://agent.example"',
  agentComponent: [AGENT, '"https://agent.example"'],
})
const ucp = signing({
  agent: `sig1="${keys.agent.signatureAgent}";type=jwks_uri`,
  agentComponent: [AGENT, `"${keys.agent.signatureAgent}";type=jwks_uri`],
})
const minimal = (method: string, agent: Key | null) =>
  signing({
    method,
    components: [
      ['"@authority"', 'shop.example'],
      [AGENT, agent === null ? '"https://agent.example"' : `"${agent.signatureAgent}"`],
    ],
    ...(agent === null && { agent: 'sig1="https://agent.example"' }),
  })

const valid = [
  { name: 'GET', request: received(get), base: get.base, digest: 'none' },
  {
    name: 'GET with a query',
    ...withBase(at('/orders', '?id=1&q=a%20b')),
    digest: 'none',
  },
  { name: 'a lone ? is a query', ...withBase(at('/orders', '?')), digest: 'none' },
  { name: '// at the start of the path', ...withBase(at('//evil/x')), digest: 'none' },
  { name: 'a percent-encoded slash stays as it is', ...withBase(at('/a%2Fb')), digest: 'none' },
  {
    name: 'POST',
    request: received(post, { body }),
    base: post.base,
    digest: 'checked',
  },
  {
    name: 'POST whose body is not visible',
    request: withoutBody(received(post)),
    base: post.base,
    digest: 'unchecked',
  },
  {
    name: 'POST without a body covers the digest of nothing',
    ...withBase(signing({ method: 'POST', fields: [digested('')] })),
    digest: 'checked',
  },
  {
    name: 'every field that is covered if it is present',
    ...withBase(
      signing({
        method: 'PUT',
        fields: [
          digested(''),
          json,
          ['Content-Encoding', 'identity'],
          ['Idempotency-Key', '"k"'],
          ['Authorization', 'Bearer t'],
          ['Mcp-Method', 'tools/call'],
          ['Mcp-Name', 'buy'],
          id,
          ['ServiceID-Certificate', 'c'],
          ['ServiceID-Status', 's'],
        ],
      }),
    ),
    digest: 'checked',
  },
  {
    name: 'the default port is no part of the authority',
    request: received(get, { authority: 'Shop.Example:443' }),
    base: get.base,
    digest: 'none',
  },
  {
    name: 'the target in absolute form',
    request: received(get, { target: `${SHOP}/orders` }),
    base: get.base,
    digest: 'none',
  },
  {
    name: 'relabelled by an intermediary',
    request: replacing(
      agentHeader,
      ['Signature-Input', inputHeader[1].replace('sig1=', 'proxy=')],
      ['Signature', signatureHeader[1].replace('sig1=', 'proxy=')],
    ),
    base: get.base,
    digest: 'none',
  },
  {
    name: 'next to a signature with another tag',
    request: replacing(
      agentHeader,
      ['Signature-Input', `other=${otherTag}, ${inputHeader[1]}`],
      ['Signature', `other=:AAAA:, ${signatureHeader[1]}`],
    ),
    base: get.base,
    digest: 'none',
  },
  {
    name: 'names in lower case, in another order, values with white space around them',
    request: replacing(
      ['signature', `  ${signatureHeader[1]} `],
      ['signature-input', inputHeader[1]],
      ['signature-agent', agentHeader[1]],
      ['accept', '*/*'],
    ),
    base: get.base,
    digest: 'none',
  },
  {
    name: 'dictionaries over several lines',
    request: replacing(
      ['Signature-Agent', 'a="https://a.example"'],
      agentHeader,
      ['Signature-Input', `other=${otherTag}`],
      inputHeader,
      ['Signature', 'other=:AAAA:'],
      signatureHeader,
    ),
    base: get.base,
    digest: 'none',
  },
  { name: 'dialect ucp', ...withBase(ucp), digest: 'none' },
  {
    name: 'alg is ed25519',
    ...withBase(signing({ params: `${paramsOf(keys.agent)};alg="ed25519"` })),
    digest: 'none',
  },
  { name: '30 seconds ahead', ...withBase(signing({ created: NOW + 30 })), digest: 'none' },
  {
    name: 'expires now',
    ...withBase(signing({ created: NOW - 60 })),
    digest: 'none',
  },
]

function withBase(signed: ReturnType<typeof signing>) {
  return { request: received(signed), base: signed.base }
}

function withoutBody({ body: _, ...rest }: Received): Received {
  return rest
}

const invalid = [
  // Where it was sent.
  {
    name: 'foreign Host',
    why: 'a site forwards to us what was signed for itself',
    reason: 'authority',
    request: received(signing({ authority: 'evil.example' })),
  },
  {
    name: 'signed for another site, sent with our Host',
    why: 'the authority is covered',
    reason: 'bad-signature',
    request: received(signing({ authority: 'evil.example' }), { authority: 'shop.example' }),
  },
  {
    name: 'over http',
    why: '@authority does not cover the scheme',
    reason: 'insecure',
    request: received(get, { scheme: 'http' }),
  },
  {
    name: 'a trailing dot',
    why: 'another authority',
    reason: 'authority',
    request: received(signing({ authority: 'shop.example.' })),
  },
  {
    name: 'port 443 in what was signed',
    why: 'the default port is no part of @authority',
    reason: 'bad-signature',
    request: received(signing({ authority: 'shop.example:443' }), {
      authority: 'shop.example:443',
    }),
  },
  {
    name: 'two Host fields',
    why: 'two readers could see different ones',
    reason: 'bad-host',
    request: withHeaders(['Host', 'shop.example'], ['Host', 'shop.example']),
  },
  {
    name: 'Host differs from :authority',
    why: 'two readers could see different ones',
    reason: 'bad-host',
    request: withHeaders(['Host', 'evil.example']),
  },
  {
    name: 'Host differs from the absolute target',
    why: 'two readers could see different ones',
    reason: 'bad-host',
    request: received(get, { target: 'https://evil.example/orders' }),
  },
  {
    name: 'empty path',
    why: 'clients send /',
    reason: 'bad-path',
    request: received(signing({ path: '/' }), { target: '' }),
  },
  {
    name: 'a path that climbs',
    why: 'not normalized',
    reason: 'bad-path',
    request: received(at('/a/../orders')),
  },
  {
    name: 'an encoded dot segment',
    why: 'not normalized',
    reason: 'bad-path',
    request: received(at('/a/%2e%2E/orders')),
  },
  {
    name: 'a backslash',
    why: 'URL turns it into a slash',
    reason: 'bad-path',
    request: received(at('/a\\b')),
  },
  {
    name: 'a fragment',
    why: 'it is never sent',
    reason: 'bad-path',
    request: received(at('/orders#x')),
  },
  {
    name: 'the asterisk of OPTIONS',
    why: 'no path',
    reason: 'bad-path',
    request: received(signing({ method: 'OPTIONS', path: '*' })),
  },
  // What was changed.
  {
    name: 'another method',
    why: 'the method is covered',
    reason: 'bad-signature',
    request: received(get, { method: 'DELETE' }),
  },
  {
    name: 'a method that needs a digest',
    why: 'POST covers content-digest, also without a body',
    reason: 'components',
    request: received(get, { method: 'POST' }),
  },
  {
    name: 'another path',
    why: 'the path is covered',
    reason: 'bad-signature',
    request: received(get, { target: '/orders/1' }),
  },
  {
    name: '// in front of the path',
    why: 'another path',
    reason: 'bad-signature',
    request: received(get, { target: '//orders' }),
  },
  {
    name: 'a query was added',
    why: 'a query has to be covered',
    reason: 'components',
    request: received(get, { target: '/orders?amount=1' }),
  },
  {
    name: 'a lone ? was added',
    why: 'a query has to be covered',
    reason: 'components',
    request: received(get, { target: '/orders?' }),
  },
  {
    name: 'a lone ? was removed',
    why: '@query has the same value for ? and for no query',
    reason: 'components',
    request: received(at('/orders', '?'), { target: '/orders' }),
  },
  {
    name: 'another query',
    why: 'the query is covered',
    reason: 'bad-signature',
    request: received(at('/orders', '?id=1'), { target: '/orders?id=2' }),
  },
  {
    name: 'a body was added',
    why: 'content has to be covered by its digest',
    reason: 'components',
    request: received(get, { body }),
  },
  {
    name: 'a body that is not visible was added',
    why: 'content has to be covered by its digest',
    reason: 'components',
    request: withoutBody(withHeaders(['Content-Length', '10'])),
  },
  {
    name: 'another body',
    why: 'the digest is covered',
    reason: 'digest',
    request: received(post, { body: '{"item":2}' }),
  },
  {
    name: 'the body was removed',
    why: 'the digest is covered',
    reason: 'digest',
    request: received(post),
  },
  {
    name: 'another digest',
    why: 'the digest is covered',
    reason: 'bad-signature',
    request: received(post, {
      headers: [digested('{"item":2}'), ...post.headers.slice(1)],
      body: '{"item":2}',
    }),
  },
  {
    name: 'a digest by another algorithm alone',
    why: 'SHA-256 is needed',
    reason: 'digest',
    request: received(signing({ method: 'POST', fields: [['Content-Digest', 'sha-512=:AAAA:']] })),
  },
  {
    name: 'another content type',
    why: 'it is covered',
    reason: 'bad-signature',
    request: received(post, {
      headers: [digested(body), ['Content-Type', 'text/plain'], ...post.headers.slice(2)],
      body,
    }),
  },
  {
    name: 'Authorization was added',
    why: 'it has to be covered if it is present',
    reason: 'components',
    request: withHeaders(['Authorization', 'Bearer t']),
  },
  {
    name: 'a certificate was added',
    why: 'it has to be covered if it is present',
    reason: 'components',
    request: withHeaders(['ServiceID-Certificate', 'c']),
  },
  {
    name: 'Authorization twice',
    why: 'two readers could see different ones',
    reason: 'malformed',
    request: received(signing({ fields: [['Authorization', 'Bearer t, Bearer u']] }), {
      headers: [
        ['Authorization', 'Bearer t'],
        ['Authorization', 'Bearer u'],
        ...signing({ fields: [['Authorization', 'Bearer t, Bearer u']] }).headers.slice(1),
      ],
    }),
  },
  {
    name: 'a covered field was removed',
    why: 'the base cannot be built',
    reason: 'malformed',
    request: received(signing({ fields: [['Accept', '*/*']] }), {
      headers: signing({ fields: [['Accept', '*/*']] }).headers.slice(1),
    }),
  },
  // How the signature is written.
  {
    name: 'Signature alone',
    why: 'Signature-Input is missing',
    reason: 'malformed',
    request: replacing(agentHeader, signatureHeader),
  },
  {
    name: 'Signature-Input alone',
    why: 'Signature is missing',
    reason: 'malformed',
    request: replacing(agentHeader, inputHeader),
  },
  {
    name: 'Signature-Agent was removed',
    why: 'the covered field is missing',
    reason: 'malformed',
    request: replacing(inputHeader, signatureHeader),
  },
  {
    name: 'labels differ',
    why: 'Signature has no member of the label',
    reason: 'malformed',
    request: replacing(agentHeader, inputHeader, [
      'Signature',
      signatureHeader[1].replace('sig1=', 'sig2='),
    ]),
  },
  {
    name: 'two signatures with the tag',
    why: 'exactly one has it',
    reason: 'malformed',
    request: replacing(
      agentHeader,
      ['Signature-Input', `${inputHeader[1]}, ${inputHeader[1].replace('sig1=', 'sig2=')}`],
      ['Signature', `${signatureHeader[1]}, ${signatureHeader[1].replace('sig1=', 'sig2=')}`],
    ),
  },
  {
    name: 'a repeated label',
    why: 'two readers could see different ones',
    reason: 'malformed',
    request: replacing(agentHeader, inputHeader, inputHeader, signatureHeader),
  },
  {
    name: 'a repeated label in Signature',
    why: 'two readers could see different ones',
    reason: 'malformed',
    request: replacing(agentHeader, inputHeader, ['Signature', 'sig1=:AAAA:'], signatureHeader),
  },
  {
    name: 'a repeated member of Signature-Agent',
    why: 'two readers could see different ones',
    reason: 'malformed',
    request: replacing(['Signature-Agent', 'sig1="https://a.example"'], ...get.headers),
  },
  {
    name: 'a repeated parameter',
    why: 'two readers could see different ones',
    reason: 'malformed',
    request: received(signing({ params: `;created=1${paramsOf(keys.agent)}` })),
  },
  {
    name: 'a repeated component',
    why: 'RFC 9421 section 2.5',
    reason: 'malformed',
    request: received(
      signing({
        components: [
          ['"@method"', 'GET'],
          ['"@method"', 'GET'],
          ['"@authority"', 'shop.example'],
          ['"@path"', '/orders'],
          [AGENT, `"${keys.agent.signatureAgent}"`],
        ],
      }),
    ),
  },
  {
    name: 'a component with parameters',
    why: 'only signature-agent has one',
    reason: 'malformed',
    request: received(
      signing({ components: [...threeComponents(), ['"@path";req', '/'], agentOf(keys.agent)] }),
    ),
  },
  {
    name: 'an unknown derived component',
    why: 'not supported',
    reason: 'malformed',
    request: received(
      signing({
        components: [...threeComponents(), ['"@query-param";name="id"', '1'], agentOf(keys.agent)],
      }),
    ),
  },
  {
    name: 'an inner list in Signature-Agent',
    why: 'a string belongs there',
    reason: 'malformed',
    request: received(signing({ agent: `sig1=("${keys.agent.signatureAgent}")` })),
  },
  {
    name: 'an inner list in Signature',
    why: 'bytes belong there',
    reason: 'malformed',
    request: replacing(agentHeader, inputHeader, ['Signature', 'sig1=(:AAAA:)']),
  },
  {
    name: 'no inner list in Signature-Input',
    why: 'an inner list belongs there',
    reason: 'malformed',
    request: replacing(
      agentHeader,
      ['Signature-Input', `sig1="x"${paramsOf(keys.agent)}`],
      signatureHeader,
    ),
  },
  {
    name: 'parameters in Signature',
    why: 'none belong there',
    reason: 'malformed',
    request: replacing(agentHeader, inputHeader, ['Signature', `${signatureHeader[1]};a=1`]),
  },
  {
    name: 'unknown parameters in Signature-Agent',
    why: 'none but type=jwks_uri belong there',
    reason: 'malformed',
    request: received(
      signing({
        agent: `sig1="${keys.agent.signatureAgent}";type=card`,
        agentComponent: [AGENT, `"${keys.agent.signatureAgent}";type=card`],
      }),
    ),
  },
  {
    name: 'Signature-Agent has no member of the key',
    why: 'the key names another member',
    reason: 'malformed',
    request: received(signing({ agent: `sig2="${keys.agent.signatureAgent}"` })),
  },
  {
    name: 'Signature-Agent over plain http',
    why: 'anybody on the way could replace the keys',
    reason: 'malformed',
    request: received(
      signing({
        agent: 'sig1="http://agent.example"',
        agentComponent: [AGENT, '"http://agent.example"'],
      }),
    ),
  },
  {
    name: 'Signature-Agent is not covered',
    why: 'somebody else could name another one',
    reason: 'malformed',
    request: received(signing({ components: threeComponents() })),
  },
  {
    name: 'a signature that is not canonical base64',
    why: 'one signature has one spelling',
    reason: 'malformed',
    request: replacing(agentHeader, inputHeader, [
      'Signature',
      signatureHeader[1].replace('==:', ':'),
    ]),
  },
  {
    name: 'a line break in a covered field',
    why: 'it could add a line to the base',
    reason: 'malformed',
    request: received(signing({ fields: [['Accept', 'a\n"@path": /']] })),
  },
  {
    name: 'five signatures',
    why: 'at most four',
    reason: 'limits',
    request: replacing(
      agentHeader,
      [
        'Signature-Input',
        ['a', 'b', 'c', 'd'].map((label) => `${label}=${otherTag}, `).join('') + inputHeader[1],
      ],
      signatureHeader,
    ),
  },
  {
    name: '33 components',
    why: 'at most 32',
    reason: 'limits',
    request: received(
      signing({
        components: [
          ...threeComponents(),
          ...Array.from({ length: 29 }, (_, i) => [`"x-${i}"`, '1'] as const),
          agentOf(keys.agent),
        ],
      }),
    ),
  },
  {
    name: 'a field of more than 8 KiB',
    why: 'at most 8 KiB',
    reason: 'limits',
    request: withHeaders(['X-Long', 'x'.repeat(8193)]),
  },
  // What is covered.
  ...['"@method"', '"@authority"', '"@path"'].map((left) => ({
    name: `${left.slice(1, -1)} is not covered`,
    why: 'strict needs it',
    reason: 'components',
    request: received(
      signing({
        components: [...threeComponents().filter(([name]) => name !== left), agentOf(keys.agent)],
      }),
    ),
  })),
  // When.
  {
    name: '31 seconds ahead',
    why: 'at most 30',
    reason: 'not-yet-valid',
    request: received(signing({ created: NOW + 31 })),
  },
  {
    name: 'expired',
    why: 'expires is past',
    reason: 'expired',
    request: received(signing({ created: NOW - 61 })),
  },
  {
    name: 'no created',
    why: 'it is needed',
    reason: 'lifetime',
    request: received(signing({ params: paramsOf(keys.agent).replace(/;created=\d+/, '') })),
  },
  {
    name: 'no expires',
    why: 'it is needed',
    reason: 'lifetime',
    request: received(signing({ params: paramsOf(keys.agent).replace(/;expires=\d+/, '') })),
  },
  {
    name: 'valid for 301 seconds',
    why: 'at most 300',
    reason: 'lifetime',
    request: received(signing({ params: paramsOf(keys.agent, NOW, NOW + 301) })),
  },
  {
    name: 'expires before it was created',
    why: 'no lifetime',
    reason: 'lifetime',
    request: received(signing({ params: paramsOf(keys.agent, NOW + 10, NOW + 5) })),
  },
  {
    name: 'created is a string',
    why: 'an integer belongs there',
    reason: 'malformed',
    request: received(
      signing({ params: paramsOf(keys.agent).replace(/created=(\d+)/, 'created="$1"') }),
    ),
  },
  // Whose key.
  {
    name: 'the key of another agent',
    why: 'the keyid is not that of the agent that Signature-Agent names',
    reason: 'unknown-key',
    request: received(
      signing({
        key: keys.other,
        agent: `sig1="${keys.agent.signatureAgent}"`,
        agentComponent: agentOf(keys.agent),
      }),
    ),
  },
  {
    name: "another agent's keyid with its own signature",
    why: 'signed by another key',
    reason: 'bad-signature',
    request: received(
      signing({
        key: keys.other,
        params: paramsOf(keys.agent),
        agent: `sig1="${keys.agent.signatureAgent}"`,
        agentComponent: agentOf(keys.agent),
      }),
    ),
  },
  {
    name: 'an agent that does not exist',
    why: 'no such key',
    reason: 'unknown-key',
    request: received(
      signing({
        agent: `sig1="${ISSUER}/agent/CXk2mPqR9sTvWyZaBcDeFgHj/jwks.json"`,
        agentComponent: [AGENT, `"${ISSUER}/agent/CXk2mPqR9sTvWyZaBcDeFgHj/jwks.json"`],
      }),
    ),
  },
  {
    name: 'keys of somebody whom nobody lists, dialect legacy',
    why: 'nobody vouches for them',
    reason: 'untrusted-agent',
    request: received(legacy),
  },
  {
    name: 'keys of somebody whom nobody lists, dialect origin',
    why: 'nobody vouches for them',
    reason: 'untrusted-agent',
    request: received(origin),
  },
  {
    name: 'a published test key',
    why: 'everyone has it',
    reason: 'test-key',
    request: received(signing({ key: keys.published })),
  },
  {
    name: 'alg is another algorithm',
    why: 'the key is Ed25519',
    reason: 'algorithm',
    request: received(signing({ params: `${paramsOf(keys.agent)};alg="ecdsa-p256-sha256"` })),
  },
  {
    name: 'a signature of zeros',
    why: 'not a signature',
    reason: 'bad-signature',
    request: replacing(agentHeader, inputHeader, [
      'Signature',
      `sig1=:${Buffer.alloc(64).toString('base64')}:`,
    ]),
  },
  {
    name: 'a signature of 63 bytes',
    why: 'not a signature',
    reason: 'bad-signature',
    request: replacing(agentHeader, inputHeader, [
      'Signature',
      `sig1=:${Buffer.alloc(63).toString('base64')}:`,
    ]),
  },
  {
    name: 'ServiceID of another agent',
    why: 'one request names one agent',
    reason: 'identification-mismatch',
    request: received(signing({ fields: [['ServiceID', keys.other.did]] })),
  },
  {
    name: 'ServiceID is not covered',
    why: 'somebody else may have added it',
    reason: 'identification-mismatch',
    request: withHeaders(id),
  },
  {
    name: 'a suspended agent',
    why: 'its certificate is not active',
    reason: 'suspended',
    request: received(signing({ key: keys.suspended })),
  },
  {
    name: 'a revoked agent',
    why: 'its certificate is not active',
    reason: 'revoked',
    request: received(signing({ key: keys.revoked })),
  },
  // The nonce.
  {
    name: 'no nonce',
    why: 'it is needed',
    reason: 'nonce',
    request: received(signing({ params: paramsOf(keys.agent).replace(/;nonce="\w+"/, '') })),
  },
  {
    name: 'a nonce of 21 characters',
    why: 'at least 22',
    reason: 'nonce',
    request: received(signing({ params: paramsOf(keys.agent, NOW, NOW + 60, 'A'.repeat(21)) })),
  },
  {
    name: 'a nonce of 129 characters',
    why: 'at most 128',
    reason: 'nonce',
    request: received(signing({ params: paramsOf(keys.agent, NOW, NOW + 60, 'A'.repeat(129)) })),
  },
  {
    name: 'a nonce in standard base64',
    why: 'base64url is needed',
    reason: 'nonce',
    request: received(
      signing({ params: paramsOf(keys.agent, NOW, NOW + 60, `${'A'.repeat(21)}+`) }),
    ),
  },
  {
    name: 'the same request again',
    why: 'its nonce was used',
    reason: 'replay',
    after: ['GET'],
    request: received(get),
  },
  {
    name: 'no signature',
    why: 'nothing is proven',
    reason: 'unsigned',
    request: replacing(id),
  },
  {
    name: 'a signature with another tag alone',
    why: 'it is for another purpose',
    reason: 'unsigned',
    request: replacing(['Signature-Input', `a=${otherTag}`], ['Signature', 'a=:AAAA:']),
  },
  {
    name: 'a verifier without audiences',
    why: 'the request cannot say where it belongs',
    reason: 'no-audience',
    audiences: [],
    request: received(get),
  },
  {
    name: 'wba: less is covered for a method that changes state',
    why: 'strict is needed',
    reason: 'components',
    profile: 'wba',
    request: received(minimal('DELETE', null)),
  },
  {
    name: 'wba: less is covered by an agent of the service',
    why: 'its agents can sign everything',
    reason: 'components',
    profile: 'wba',
    request: received(minimal('GET', keys.agent)),
  },
]

function threeComponents(): (readonly [string, string])[] {
  return [
    ['"@method"', 'GET'],
    ['"@authority"', 'shop.example'],
    ['"@path"', '/orders'],
  ]
}

function agentOf(key: Key): readonly [string, string] {
  return [AGENT, `"${key.signatureAgent}"`]
}

const vectors = {
  shortName: 'svc',
  idHeader: 'ServiceID',
  now: NOW * 1000,
  audiences: [SHOP],
  issuer: ISSUER,
  keys,
  valid,
  invalid,
}
writeFileSync(
  `${import.meta.dirname}/../vectors/http-signatures.json`,
  `${JSON.stringify(vectors, null, 2)}\n`,
)
