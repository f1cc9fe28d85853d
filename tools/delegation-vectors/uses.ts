import { type Header, keys, NOW, SHOP } from '../signature-vectors/signing.ts'
import {
  AGENT,
  certificate,
  chain,
  ENTRY,
  FIRST,
  FOREIGN,
  type Hop,
  ISSUER_KEYS,
  joined,
  type Limits,
  ORIGIN,
  SECOND,
  signerOf,
  THIRD,
  tokensOf,
  UNTIL,
  type Use,
  use,
} from './chains.ts'
import { chainOfLength } from './form.ts'

export const LOOPBACK = 'http://localhost:8080'
const OTHER_SHOP = 'https://other-shop.example'
const SECONDS_AGO = NOW - 60

/** A hop as the result of a verification shows it. */
function shown(
  at: number,
  { to, iat = SECONDS_AGO + at, exp = UNTIL, maxDepth = 2 - at, limits = ORIGIN }: Hop,
) {
  const { origins, methods = null, paths = null, mcp = null } = limits as Limits
  return {
    keyid: (to ?? [FIRST, SECOND, THIRD][at])?.keyid,
    issuedAt: (iat as number) * 1000,
    expiresAt: (exp as number) * 1000,
    maxDepth,
    limits: { origins, methods, paths, mcp },
  }
}

function verified(name: string, hops: readonly Hop[], change: Use = {}, value = chain(...hops)) {
  const last = [FIRST, SECOND, THIRD][hops.length - 1] as typeof FIRST
  const request = use(value, { by: hops.at(-1)?.to ?? last, ...change })
  return { name, request, did: keys.agent.did, hops: hops.map((each, at) => shown(at, each)) }
}

const limited = (limits: object): Hop => ({ limits: { ...ORIGIN, ...limits } })
const paths = (...each: string[]) => limited({ paths: each })
const eight = (of: (at: number) => string) => Array.from({ length: 8 }, (_, at) => of(at))
const mcpFields = (method: string, name?: string): Header[] => [
  ['Mcp-Method', method],
  ...(name === undefined ? [] : [['Mcp-Name', name] as const]),
]

/** Of no content. */
const EMPTY_DIGEST: Header = [
  'Content-Digest',
  'sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:',
]

/** Requests that count, of agents that may delegate three times. */
export const VALID = [
  verified('one hop', [{}]),
  verified('two hops', [{}, {}]),
  verified('three hops', [{}, {}, {}]),
  verified(
    'a certificate with ES256',
    [{}],
    {},
    joined(tokensOf(certificate({ by: ISSUER_KEYS.p256 }), [{}])),
  ),
  verified(
    'a certificate that allows one hop',
    [{ maxDepth: 0 }],
    {},
    joined(tokensOf(certificate({ claims: { maxDelegationDepth: 1 } }), [{ maxDepth: 0 }])),
  ),
  verified('exp in one second, iat 60 seconds ahead in hop 2', [
    { exp: NOW + 70 },
    { iat: NOW + 60, exp: NOW + 70 },
  ]),
  verified('86,400 seconds, until the certificate expires', [
    { iat: NOW - 600, exp: NOW + 85_800 },
  ]),
  verified('6,144 characters', [{}], {}, chainOfLength(6_144)),
  verified('a nonce of 128 characters', [{ nonce: 'N'.repeat(128) }]),
  verified('methods', [limited({ methods: ['POST', 'GET'] })]),
  verified('methods that a hop narrows', [
    limited({ methods: ['POST', 'GET'] }),
    limited({ methods: ['GET'] }),
  ]),
  verified('a limit that only hop 2 has', [{}, limited({ methods: ['GET'] })]),
  verified('an exact path', [paths('/a', '/orders')], { query: '?page=2' }),
  verified('a prefix', [paths('/orders/*')], { path: '/orders/1/items' }),
  verified('a prefix, nothing after it', [paths('/orders/*')], { path: '/orders/' }),
  verified('a narrower prefix', [paths('/orders/*'), paths('/orders/1/*')], {
    path: '/orders/1/items',
  }),
  verified('every path', [paths('/*')]),
  verified('an encoded path, byte for byte', [paths('/caf%C3%A9')], { path: '/caf%C3%A9' }),
  verified('an MCP method', [limited({ mcp: ['tools/list', 'tools/call search'] })], {
    fields: mcpFields('tools/list'),
  }),
  verified('an MCP tool', [limited({ mcp: ['tools/list', 'tools/call search'] })], {
    fields: mcpFields('tools/call', 'search'),
  }),
  verified('an override header without limits that it could evade', [{}], {
    fields: [['X-HTTP-Method-Override', 'POST']],
  }),
  verified('the most origins, methods and paths', [
    {
      limits: {
        origins: [SHOP, ...eight((at) => `https://shop${at}.example`).slice(1)],
        methods: ['GET', ...eight((at) => 'A'.repeat(at + 1)).slice(1)],
        paths: ['/orders', ...eight((at) => `/p${at}/*`).slice(1)],
      },
    },
  ]),
  verified('http on loopback', [{ limits: { origins: [LOOPBACK] } }], {
    authority: 'localhost:8080',
    change: { scheme: 'http' },
  }),
  verified('with the DID of the agent in the identification header', [{}], {
    fields: [['ServiceID', keys.agent.did as string]],
  }),
  verified('a POST', [{}], { method: 'POST', fields: [EMPTY_DIGEST] }),
]

const refused = (
  number: number | null,
  reason: string,
  name: string,
  value: string | null,
  by: Use = {},
) => ({
  name,
  case: number,
  request: use(value, by),
  reason,
})
const outside = (number: number, name: string, hop: Hop, by: Use = {}) =>
  refused(number, 'delegation-limit', name, chain(hop), by)
const suspended = keys.suspended
const under = (root: string, hop: Hop = {}, agent = AGENT) => joined(tokensOf(root, [hop], agent))

const OVERRIDES = [
  'X-HTTP-Method-Override',
  'X-HTTP-Method',
  'X-Method-Override',
  'X-Original-URL',
  'X-Rewrite-URL',
  'X_HTTP_Method_Override',
]

/** What the verifier's policy, the state of the agent, or the limits of the hop refuse. */
export const USES = [
  {
    ...refused(49, 'delegation-refused', 'two hops where one is accepted', chain({}, {}), {
      by: SECOND,
    }),
    delegation: { maxDepth: 1, maxSeconds: 86_400, mcp: true },
  },
  {
    ...refused(
      49,
      'delegation-refused',
      '3,601 seconds where 3,600 are accepted',
      chain({ iat: NOW - 1, exp: NOW + 3_600 }),
    ),
    delegation: { maxDepth: 3, maxSeconds: 3_600, mcp: true },
  },
  {
    ...refused(50, 'delegation-refused', 'the verifier accepts no chains', chain({})),
    delegation: null,
  },
  {
    ...refused(
      50,
      'delegation-refused',
      'what is no chain, where the verifier accepts none',
      `${certificate()}~~`,
    ),
    delegation: null,
  },
  {
    ...refused(
      50,
      'delegation-refused',
      'a limit on MCP calls where the server does not compare them',
      chain(limited({ mcp: ['tools/list'] })),
      { fields: mcpFields('tools/list') },
    ),
    delegation: { maxDepth: 3, maxSeconds: 86_400, mcp: false },
  },
  refused(
    51,
    'delegation-ended',
    'the certificate was replaced or revoked',
    under(certificate({ idx: ENTRY.invalid })),
  ),
  refused(
    51,
    'delegation-ended',
    'the certificate of an earlier key',
    under(
      certificate({
        idx: ENTRY.invalid,
        claims: { keySequence: 1, cnf: { jwk: { kty: 'OKP', crv: 'Ed25519', x: FOREIGN.x } } },
      }),
      {},
      FOREIGN,
    ),
  ),
  {
    ...refused(52, 'directory-unavailable', 'the status list cannot be read', chain({})),
    statusList: null,
  },
  outside(53, 'another method', limited({ methods: ['GET'] }), { method: 'DELETE' }),
  outside(53, 'HEAD where GET is allowed', limited({ methods: ['GET'] }), { method: 'HEAD' }),
  outside(54, 'another site', { limits: { origins: [OTHER_SHOP] } }),
  outside(55, '/orders where /orders/* is allowed', paths('/orders/*')),
  outside(55, '/orders/ where /orders is allowed', paths('/orders'), { path: '/orders/' }),
  outside(55, 'another letter case', paths('/orders'), { path: '/Orders' }),
  outside(55, 'another letter case of an encoded byte', paths('/caf%C3%A9'), {
    path: '/caf%c3%a9',
  }),
  outside(55, 'a path that only begins with the exact one', paths('/orders'), {
    path: '/orders.json',
  }),
  refused(56, 'bad-path', 'encoded dot segments', chain(paths('/orders/*')), {
    path: '/orders/%2e%2e/admin',
  }),
  ...[
    '/orders/;a=1',
    '/orders//admin',
    '/orders/..%2fadmin',
    '/orders/a%2Fb',
    '/orders/%C0%AF',
    '/orders/%27',
  ].map((path) => outside(56, `the ambiguous path ${path}`, paths('/orders/*'), { path })),
  ...OVERRIDES.map((name) =>
    outside(56, `${name} with a limit on methods`, limited({ methods: ['GET'] }), {
      fields: [[name, 'DELETE']],
    }),
  ),
  outside(56, 'X-Original-URL with a limit on paths', paths('/orders'), {
    fields: [['X-Original-URL', '/admin']],
  }),
  outside(57, 'another tool', limited({ mcp: ['tools/call search'] }), {
    fields: mcpFields('tools/call', 'delete'),
  }),
  outside(57, 'no name where one is allowed', limited({ mcp: ['tools/call search'] }), {
    fields: mcpFields('tools/call'),
  }),
  outside(57, 'a name where none is allowed', limited({ mcp: ['tools/call'] }), {
    fields: mcpFields('tools/call', 'search'),
  }),
  outside(57, 'no Mcp-Method', limited({ mcp: ['tools/list'] })),
  outside(57, 'no Mcp-Method, and a name', limited({ mcp: ['tools/list'] }), {
    fields: [['Mcp-Name', 'tools/list']],
  }),
  outside(57, 'method and name in Mcp-Method', limited({ mcp: ['tools/call search'] }), {
    fields: mcpFields('tools/call search'),
  }),
  {
    ...refused(58, 'replay', 'a request twice', null),
    request: VALID[0]?.request,
    after: ['one hop'],
  },
  {
    ...refused(
      58,
      'replay',
      'the same nonce and delegate under another chain',
      chain({ nonce: 'O'.repeat(22) }),
      { nonce: 'R'.repeat(22) },
    ),
    after: ['with a nonce that is used again'],
  },
  refused(
    59,
    'identification-mismatch',
    'the DID of another agent in the identification header',
    chain({}),
    { fields: [['ServiceID', keys.other.did as string]] },
  ),
  refused(
    60,
    'suspended',
    'the agent is suspended',
    under(certificate({ of: suspended, idx: ENTRY.suspended }), {}, signerOf(suspended)),
    { of: suspended },
  ),
  refused(null, 'unknown-key', 'a delegate without its chain', null),
  refused(null, 'unknown-key', 'a delegate with the certificate alone', certificate()),
  refused(null, 'unknown-key', 'a delegate with the certificate and its ~', `${certificate()}~`),
  refused(null, 'components', 'the chain is not covered', chain({}), { covered: false }),
]

const sent = use(chain({}))
/** What was changed on its way. */
export const CHANGED = [
  {
    name: 'a site sends on what it has received',
    case: null,
    request: { ...sent, authority: 'bank.example' },
    reason: 'authority',
  },
  {
    name: 'the chain twice',
    case: null,
    request: { ...sent, headers: [...sent.headers, ['ServiceID-Certificate', chain({})]] },
    reason: 'malformed',
  },
  {
    name: 'another chain of the same delegate',
    case: null,
    request: {
      ...sent,
      headers: sent.headers.map(([name, value]) => [
        name,
        name === 'ServiceID-Certificate' ? chain({ nonce: 'O'.repeat(22) }) : value,
      ]),
    },
    reason: 'bad-signature',
  },
]
