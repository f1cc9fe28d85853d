import { ISSUER, type Key, keys, NOW, SHOP } from '../signature-vectors/signing.ts'
import {
  AGENT,
  certificate,
  chain,
  digest,
  FIRST,
  FOREIGN,
  type Hop,
  ISSUER_KEYS,
  joined,
  keyOnly,
  ORIGIN,
  SECOND,
  STRANGER,
  signerOf,
  THIRD,
  tokensOf,
  UNTIL,
  type Use,
  use,
} from './chains.ts'

const refused = (number: number, fault: string, name: string, value: string, by: Use = {}) => ({
  name,
  case: number,
  request: use(value, by),
  reason: 'delegation-invalid',
  fault,
})
const bySecond = { by: SECOND }
const byThird = { by: THIRD }
const PUBLISHED = signerOf(keys.published)

/** A point of small order, and y = p. */
const SMALL_ORDER = keyOnly(`01${'00'.repeat(31)}`)
const NON_CANONICAL = keyOnly(`ed${'ff'.repeat(30)}7f`)

/** The signature of a hop with its first bit changed. */
function flipped(token: string): string {
  const at = token.lastIndexOf('.') + 1
  const bytes = Buffer.from(token.slice(at), 'base64url')
  bytes[0] = (bytes[0] as number) ^ 1
  return token.slice(0, at) + bytes.toString('base64url')
}

const wide: Hop = {
  limits: {
    origins: [SHOP],
    methods: ['GET', 'HEAD'],
    paths: ['/orders', '/orders/*'],
    mcp: ['tools/list', 'tools/call search'],
  },
}
const widened = (number: number, name: string, limits: object) =>
  refused(number, 'widened', name, chain(wide, { limits }), bySecond)
const without = (name: string) => ({ ...wide.limits, [name]: undefined })

const [root, one, two, three] = tokensOf(certificate(), [{}, {}, {}]) as [
  string,
  string,
  string,
  string,
]
const [, otherOne, otherTwo] = tokensOf(certificate(), [{ nonce: 'O'.repeat(22) }, {}]) as [
  string,
  string,
  string,
]
const otherAgent: Key = keys.other

/** What does not belong together. */
export const LINKS = [
  refused(
    25,
    'root',
    'a certificate that the issuer has not signed',
    joined(
      tokensOf(certificate({ by: STRANGER, header: { kid: ISSUER_KEYS.ed25519.jwk.kid } }), [{}]),
    ),
  ),
  refused(
    25,
    'root',
    'a certificate by a key that the issuer does not list',
    joined(tokensOf(certificate({ by: STRANGER }), [{}])),
  ),
  refused(
    25,
    'root',
    'the certificate of another agent',
    joined(tokensOf(certificate({ of: otherAgent }), [{}], signerOf(otherAgent))),
  ),
  refused(
    25,
    'root',
    'a certificate for a key of its own, forged with the DID of the agent',
    joined(
      tokensOf(
        certificate({
          by: STRANGER,
          claims: { cnf: { jwk: { kty: 'OKP', crv: 'Ed25519', x: FOREIGN.x } } },
        }),
        [{}],
        FOREIGN,
      ),
    ),
  ),
  {
    name: 'an issuer that is not trusted',
    case: 26,
    request: use(
      joined(
        tokensOf(certificate({ by: STRANGER, claims: { iss: 'https://other.example' } }), [{}]),
      ),
      {
        signatureAgent: keys.agent.signatureAgent.replace(ISSUER, 'https://other.example'),
      },
    ),
    reason: 'untrusted-agent',
  },
  refused(27, 'signature', 'hop 1 by a foreign key', chain({ by: FOREIGN })),
  refused(27, 'signature', 'hop 2 by a foreign key', chain({}, { by: FOREIGN }), bySecond),
  refused(28, 'signature', 'hop 1 by the delegate', chain({ by: FIRST })),
  refused(28, 'signature', 'hop 2 by the agent', chain({}, { by: AGENT }), bySecond),
  refused(29, 'signature', 'one bit of a signature flipped', chain({ token: flipped })),
  refused(30, 'key', 'a key of small order', chain({ to: SMALL_ORDER }), { by: SMALL_ORDER }),
  refused(30, 'key', 'a key that is not canonical', chain({ to: NON_CANONICAL }), {
    by: NON_CANONICAL,
  }),
  refused(
    30,
    'key',
    'a key of small order before the last',
    chain({ to: SMALL_ORDER }, {}),
    bySecond,
  ),
  refused(31, 'binding', 'a hop of another chain', joined([root, otherOne, two]), bySecond),
  refused(31, 'binding', 'the hops of two chains', joined([root, one, otherTwo]), bySecond),
  refused(
    32,
    'binding',
    'another certificate of the same agent',
    joined([certificate({ claims: { jti: 'BBECAwQFBgcICQoLDA0ODw' } }), one]),
  ),
  refused(33, 'binding', 'the middle hop left out', joined([root, one, three]), byThird),
  refused(33, 'binding', 'the first hop left out', joined([root, two]), bySecond),
  refused(
    33,
    'binding',
    'a hop without a ~ in what it is bound to',
    chain({ sdHash: digest(root) }),
  ),
  refused(34, 'key', "the agent's key as delegate", chain({ to: AGENT }), { by: AGENT }),
  refused(34, 'key', "the agent's key as second delegate", chain({}, { to: AGENT }), { by: AGENT }),
  refused(35, 'key', 'a key twice', chain({}, { to: FIRST })),
  refused(36, 'key', 'keyid is that of the agent', chain({}), { by: AGENT }),
  refused(36, 'key', 'keyid is that of the site that has received the chain', chain({}), {
    by: FOREIGN,
  }),
  refused(37, 'key', 'keyid is that of hop 1 of 2', chain({}, {})),
  {
    name: "RFC 9421's test key",
    case: 38,
    request: use(chain({ to: PUBLISHED }), { by: PUBLISHED }),
    reason: 'test-key',
  },
  {
    name: "RFC 9421's test key before the last",
    case: 38,
    request: use(chain({ to: PUBLISHED }, {}), bySecond),
    reason: 'test-key',
  },
  {
    name: "RFC 9421's test key in the certificate",
    case: 38,
    request: use(joined(tokensOf(certificate({ of: keys.published }), [{}], PUBLISHED)), {
      of: keys.published,
    }),
    reason: 'test-key',
  },
  refused(
    39,
    'depth',
    'a certificate without the claim',
    joined(tokensOf(certificate({ claims: { maxDelegationDepth: undefined } }), [{ maxDepth: 0 }])),
  ),
  refused(
    39,
    'depth',
    'maxDelegationDepth 0',
    joined(tokensOf(certificate({ claims: { maxDelegationDepth: 0 } }), [{ maxDepth: 0 }])),
  ),
  refused(40, 'depth', 'max_depth as in the certificate', chain({ maxDepth: 3 })),
  refused(
    40,
    'depth',
    'max_depth as in the hop before',
    chain({ maxDepth: 1 }, { maxDepth: 1 }),
    bySecond,
  ),
  refused(
    41,
    'depth',
    'a hop below max_depth 0',
    chain({ maxDepth: 0 }, { maxDepth: 0 }),
    bySecond,
  ),
  refused(42, 'times', 'exp after that of the hop before', chain({}, { exp: UNTIL + 1 }), bySecond),
  refused(
    43,
    'times',
    'exp after that of the certificate',
    joined(tokensOf(certificate({ claims: { exp: UNTIL - 1 } }), [{}])),
  ),
  refused(
    44,
    'times',
    '86,401 seconds',
    joined(
      tokensOf(certificate({ claims: { exp: NOW + 90_000 } }), [
        { iat: NOW - 1, exp: NOW + 86_400 },
      ]),
    ),
  ),
  refused(44, 'times', 'iat 61 seconds ahead', chain({ iat: NOW + 61 })),
  refused(44, 'times', 'iat of hop 2 61 seconds ahead', chain({}, { iat: NOW + 61 }), bySecond),
  refused(44, 'times', 'iat and exp are the same', chain({ iat: NOW + 1, exp: NOW + 1 })),
  { name: 'exp is now', case: 45, request: use(chain({ exp: NOW })), reason: 'delegation-expired' },
  {
    name: 'exp of the last hop is now',
    case: 45,
    request: use(chain({}, { exp: NOW }), bySecond),
    reason: 'delegation-expired',
  },
  widened(46, 'an origin added', { ...wide.limits, origins: [SHOP, 'https://other.example'] }),
  widened(46, 'a method added', { ...wide.limits, methods: ['GET', 'POST'] }),
  widened(46, 'another MCP call', { ...wide.limits, mcp: ['tools/call'] }),
  widened(47, 'methods left out', without('methods')),
  widened(47, 'paths left out', without('paths')),
  widened(47, 'mcp left out', without('mcp')),
  widened(47, 'everything left out but origins', ORIGIN),
  widened(48, '/* below /orders/*', { ...wide.limits, paths: ['/*'] }),
  widened(48, '/Orders below /orders', { ...wide.limits, paths: ['/Orders'] }),
  refused(
    48,
    'widened',
    '/orders/* below /orders',
    chain(
      { limits: { ...ORIGIN, paths: ['/orders'] } },
      { limits: { ...ORIGIN, paths: ['/orders/*'] } },
    ),
    bySecond,
  ),
  refused(
    48,
    'widened',
    'wider in hop 3',
    chain(wide, wide, { limits: { ...wide.limits, paths: ['/*'] } }),
    byThird,
  ),
]
