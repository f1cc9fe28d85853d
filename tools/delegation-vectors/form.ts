import { keys, NOW } from '../signature-vectors/signing.ts'
import {
  AGENT,
  certificate,
  chain,
  FIRST,
  FOREIGN,
  HEADER,
  type Hop,
  joined,
  ORIGIN,
  thumbprintUrn,
  tokensOf,
  use,
} from './chains.ts'

const format = (number: number, name: string, value: string) => ({
  name,
  case: number,
  request: use(value),
  reason: 'delegation-invalid',
  fault: 'format',
})
const odd = (number: number, name: string, hop: Hop) => format(number, name, chain(hop))
const limits = (number: number, name: string, changed: object) =>
  odd(number, name, { limits: { ...ORIGIN, ...changed } })
const header = (number: number, name: string, text: string) => odd(number, name, { header: text })
const replaced = (number: number, name: string, from: string | RegExp, to: string) =>
  odd(number, name, { payload: (text) => text.replace(from, to) })

const root = certificate()
const [, first = ''] = tokensOf(root, [{}])
const four: readonly Hop[] = [{ maxDepth: 3 }, { maxDepth: 2 }, { maxDepth: 1 }, { maxDepth: 0 }]
const disclosure = Buffer.from('["AAAAAAAAAAAAAAAAAAAAAA",{"a":1}]').toString('base64url')

/** The last character of a part with its unused bits set. */
function respelled(part: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  return part.slice(0, -1) + alphabet[alphabet.indexOf(part.at(-1) as string) + 1]
}

/** A chain of one hop that is so long, by a claim of its certificate. */
export function chainOfLength(length: number): string {
  for (let pad = 3_000; pad < 4_500; pad++) {
    for (const nonce of [22, 23, 24]) {
      const padded = certificate({ claims: { later: 'x'.repeat(pad) } })
      const value = joined(tokensOf(padded, [{ nonce: 'N'.repeat(nonce) }]))
      if (value.length > length) break
      if (value.length === length) return value
    }
  }
  throw new Error(`no chain of ${length} characters`)
}

const many = (count: number, of: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => of(at))

/** What has not the form of a chain. */
export const FORM = [
  format(1, 'a certificate and no hop', `${root}~~`),
  format(1, 'a certificate and an empty hop', `${root}~~~`),
  format(2, 'four hops', joined(tokensOf(root, four))),
  format(3, 'the last ~ is missing', chain({}).slice(0, -1)),
  format(3, 'a ~ more', `${chain({})}~`),
  format(4, 'one ~ between the tokens', `${root}~${first}~`),
  format(4, 'a ~ before the certificate', `~${chain({})}`),
  format(5, 'a disclosure', `${root}~~${first}~${disclosure}~`),
  format(6, 'a closing KB-JWT', `${root}~~${first}~${first}`),
  header(7, 'a hop without a further key: kb+sd-jwt', HEADER.replace('kb+sd-jwt+kb', 'kb+sd-jwt')),
  header(8, 'the alias kb-sd-jwt+kb', HEADER.replace('kb+sd-jwt+kb', 'kb-sd-jwt+kb')),
  header(8, 'a JWT', '{"alg":"EdDSA","typ":"JWT"}'),
  ...['none', 'ES256', 'Ed25519'].map((alg) =>
    header(9, `the algorithm ${alg}`, HEADER.replace('EdDSA', alg)),
  ),
  ...[`"kid":"${AGENT.keyid}"`, `"jwk":{}`, '"crit":["exp"]'].map((member) =>
    header(10, `in the header ${member}`, HEADER.replace('}', `,${member}}`)),
  ),
  header(10, 'the members of the header in another order', '{"typ":"kb+sd-jwt+kb","alg":"EdDSA"}'),
  header(10, 'a space in the header', HEADER.replace(',', ', ')),
  limits(11, 'a limit that is not known', { scopes: ['read'] }),
  replaced(
    12,
    'a member that is not known',
    ',"delegate_payload"',
    ',"jti":"a","delegate_payload"',
  ),
  replaced(12, 'a member that is not known beside cnf', '"limits"', '"nbf":1,"limits"'),
  replaced(12, 'a member that is not known in the key', '"crv"', '"kid":"a","crv"'),
  replaced(12, 'no nonce', /"nonce":"[^"]*",/, ''),
  replaced(12, 'no max_depth', '"max_depth":2,', ''),
  replaced(12, 'members in another order', /^\{("iat":\d+),("aud":"[^"]*"),/, '{$2,$1,'),
  odd(13, 'a member twice', { payload: (text) => text.replace('{', `{"iat":${NOW - 60},`) }),
  replaced(13, 'limits twice', /("limits":\{[^}]*\})/, '$1,$1'),
  replaced(14, 'white space', ',"aud"', ', "aud"'),
  odd(14, 'a line feed at the end', { payload: (text) => `${text}\n` }),
  odd(14, 'a byte order mark', { payload: (text) => `\ufeff${text}` }),
  replaced(15, 'max_depth 1e0', '"max_depth":2', '"max_depth":1e0'),
  replaced(15, 'max_depth 1.0', '"max_depth":2', '"max_depth":1.0'),
  replaced(15, 'max_depth -1', '"max_depth":2', '"max_depth":-1'),
  replaced(15, 'max_depth -0', '"max_depth":2', '"max_depth":-0'),
  replaced(15, 'max_depth 4', '"max_depth":2', '"max_depth":4'),
  replaced(15, 'max_depth 02', '"max_depth":2', '"max_depth":02'),
  replaced(15, 'max_depth "1"', '"max_depth":2', '"max_depth":"1"'),
  replaced(15, 'max_depth null', '"max_depth":2', '"max_depth":null'),
  replaced(15, 'an iat with an exponent', /"iat":\d+/, '"iat":1.8e9'),
  replaced(15, 'an iat with a fraction', /"iat":(\d+)/, '"iat":$1.5'),
  replaced(15, 'an exp in milliseconds', /"exp":(\d+)/, '"exp":$1000'),
  replaced(15, 'an exp of 400 digits', /"exp":\d+/, `"exp":${'9'.repeat(400)}`),
  odd(16, 'an escape in a path', {
    limits: { ...ORIGIN, paths: ['/orders'] },
    payload: (text) => text.replace('"/orders"', '"\\u002forders"'),
  }),
  odd(16, 'an escaped slash in an origin', {
    payload: (text) => text.replace('"https://', '"https:\\/\\/'),
  }),
  replaced(17, 'two payloads', /"delegate_payload":\[(.*)\]\}$/, '"delegate_payload":[$1,$1]}'),
  replaced(17, 'no payload', /"delegate_payload":\[.*\]\}$/, '"delegate_payload":[]}'),
  replaced(
    17,
    'a digest in place of the payload',
    /"delegate_payload":\[.*\]\}$/,
    '"delegate_payload":[{"...":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}]}',
  ),
  replaced(17, 'the payload without its list', /:\[(\{"exp".*)\]\}$/, ':$1}'),
  replaced(
    18,
    'issuer_jwt_hash in place of sd_hash',
    /"sd_hash":"([^"]*)"/,
    '"issuer_jwt_hash":"$1"',
  ),
  replaced(18, '_sd_alg', ',"delegate_payload"', ',"_sd_alg":"sha-256","delegate_payload"'),
  odd(19, 'an audience of another key', { aud: thumbprintUrn(FOREIGN) }),
  odd(19, 'the site as audience', { aud: 'https://shop.example' }),
  odd(20, 'no origins', { limits: { methods: ['GET'] } }),
  limits(20, 'an empty list of origins', { origins: [] }),
  limits(20, 'nine origins', { origins: many(9, (at) => `https://shop${at}.example`) }),
  limits(20, 'an origin twice', { origins: ['https://shop.example', 'https://shop.example'] }),
  limits(20, 'origins as text', { origins: 'https://shop.example' }),
  odd(20, 'limits as a list', { limits: [] }),
  ...[
    'http://shop.example',
    'https://shop.example/orders',
    'https://shop.example/',
    'https://Shop.example',
    'https://shop.example:443',
    'https://a@shop.example',
    'https://*.example',
    'ftp://shop.example',
    'null',
    '*',
  ].map((each) => limits(21, `the origin ${each}`, { origins: [each] })),
  ...[
    '/orders/../admin',
    '/orders/%2fadmin',
    '/orders/*/items',
    '/orders*',
    '*',
    'orders',
    '//orders',
    '/orders;v=1',
    '/orders?a=1',
    '/orders#a',
    '/orders\\a',
    '/orders/%C0%AF',
    '/a"b',
    `/${'a'.repeat(128)}`,
    '',
  ].map((each) => limits(22, `the path ${each}`, { paths: [each] })),
  limits(22, 'nine paths', { paths: many(9, (at) => `/${at}`) }),
  limits(22, 'a path twice', { paths: ['/orders', '/orders'] }),
  limits(22, 'an empty list of paths', { paths: [] }),
  ...['get', 'GET POST', '', 'A'.repeat(17)].map((each) =>
    limits(22, `the method ${JSON.stringify(each)}`, { methods: [each] }),
  ),
  limits(22, 'nine methods', { methods: many(9, (at) => 'A'.repeat(at + 1)) }),
  ...['tools/call  a', 'tools/call ', ' a', 'tools/call a b', 'a'.repeat(65), 'tools1'].map(
    (each) => limits(22, `the MCP call ${JSON.stringify(each)}`, { mcp: [each] }),
  ),
  limits(22, 'an MCP call with a quotation mark', { mcp: ['tools/call a"b'] }),
  limits(22, '17 MCP calls', { mcp: many(17, (at) => `tools/call t${at}`) }),
  replaced(
    22,
    'limits in another order',
    /"limits":\{.*?\}/,
    '"limits":{"methods":["GET"],"origins":["https://shop.example"]}',
  ),
  format(23, '6,145 characters', chainOfLength(6_145)),
  odd(24, 'the signature of a hop in another spelling', { token: respelled }),
  odd(24, 'the signature of a hop with padding', { token: (text) => `${text}==` }),
  odd(24, 'the signature of a hop in standard base64', {
    // One whose signature has such a character.
    nonce: 'M'.repeat(22),
    token: (text) => text.replaceAll('-', '+').replaceAll('_', '/'),
  }),
  replaced(24, 'the key of a hop in another spelling', FIRST.x, respelled(FIRST.x)),
  odd(24, 'an sd_hash in another spelling', { sdHash: `${'A'.repeat(42)}B` }),
  odd(24, 'an sd_hash of 42 characters', { sdHash: 'A'.repeat(42) }),
  odd(24, 'a nonce of 21 characters', { nonce: 'N'.repeat(21) }),
  odd(24, 'a nonce of 129 characters', { nonce: 'N'.repeat(129) }),
  odd(24, 'a nonce in standard base64', { nonce: `${'N'.repeat(22)}==` }),
  ...[4, 1.5, '1', null].map((each) =>
    format(
      24,
      `maxDelegationDepth ${JSON.stringify(each)} in the certificate`,
      joined(tokensOf(certificate({ claims: { maxDelegationDepth: each } }), [{ maxDepth: 0 }])),
    ),
  ),
  format(24, 'a staple as root', joined(tokensOf(certificate({ typ: 'svc-status+jwt' }), [{}]))),
  format(
    24,
    'a certificate without a key',
    joined(tokensOf(certificate({ claims: { cnf: { jkt: keys.agent.keyid } } }), [{}])),
  ),
]
