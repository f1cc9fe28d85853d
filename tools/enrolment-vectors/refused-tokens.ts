import { EC256, EC384, type PlatformKey, STRANGER } from './keys.ts'
import { hashOf, nested, type TokenParts, token } from './make-token.ts'
import { audienceOf, NOW, PAYLOADS, RULES, type RuleName, THUMBPRINT } from './platforms.ts'

const refused = (name: string, why: string, rule: RuleName, text: string, now?: number) => ({
  name,
  why,
  rule,
  ...(now === undefined ? {} : { now: now * 1000 }),
  token: text,
})

/** A token that a header, a payload or a claim alone refuses: of Kubernetes, unless named otherwise. */
const byHeader = (name: string, header: object, key?: PlatformKey) =>
  refused(name, 'header', 'kubernetes', token('kubernetes', {}, { header, ...(key && { key }) }))
const byForm = (name: string, text: string) => refused(name, 'form', 'kubernetes', text)
const byRaw = (name: string, raw: string | Uint8Array) =>
  refused(name, 'format', 'kubernetes', token('kubernetes', {}, { raw }))
const by = (why: string, rule: RuleName) => (name: string, claims: object, now?: number) =>
  refused(name, why, rule, token(rule, claims), now)
const byKey = (name: string, why: string, parts: TokenParts) =>
  refused(name, why, 'keys', token('keys', {}, parts))

const audience = by('audience', 'kubernetes')
const bound = by('audience', 'github')
const times = by('times', 'kubernetes')
const expired = by('expired', 'kubernetes')
const typeOf = by('claim', 'types')
const labelled = by('claim', 'label')
const pods = by('claim', 'kubernetes')
const runs = by('claim', 'github')

const good = token('kubernetes')
const [head = '', body = '', signature = ''] = good.split('.')
const json = JSON.stringify(PAYLOADS.kubernetes)
const kubernetes = PAYLOADS.kubernetes['kubernetes.io'] as Record<string, unknown>
/** Another last letter of base64url for the same bytes: its lowest bits do not count. */
const otherSpelling = (text: string) =>
  text.slice(0, -1) + String.fromCharCode(text.charCodeAt(text.length - 1) + 1)

export const refusedTokens = [
  byForm('nothing', ''),
  byForm('two parts', `${head}.${body}`),
  byForm('four parts', `${good}.${signature}`),
  byForm('no signature', `${head}.${body}.`),
  byForm('padding', `${good}==`),
  byForm('white space', `${good}\n`),
  byForm('another spelling of the same signature', otherSpelling(good)),
  byForm('base64 instead of base64url', `${head}.${body}.${signature.slice(0, -2)}+/`),
  byForm('over 8,192 characters', token('kubernetes', { more: 'x'.repeat(6000) })),
  byHeader('no signature of any kind', { alg: 'none' }),
  byHeader('a MAC', { alg: 'HS256' }),
  byHeader('Ed25519', { alg: 'EdDSA' }),
  byHeader('an algorithm in lower case', { alg: 'rs256' }),
  byHeader('no algorithm', { alg: undefined }),
  byHeader('a key of its own', { jwk: STRANGER.jwk }, STRANGER),
  ...['jku', 'x5u'].map((name) => byHeader(name, { [name]: 'https://evil.example/keys' })),
  byHeader('a certificate of its own', { x5c: ['AAAA'] }),
  byHeader('an extension that must be understood', { crit: ['b64'], b64: true }),
  byHeader('b64 alone', { b64: true }),
  byHeader('compression', { zip: 'DEF' }),
  byHeader('another type', { typ: 'at+jwt' }),
  byHeader('a type in lower case', { typ: 'jwt' }),
  byHeader('a kid that is a number', { kid: 1 }),
  refused(
    'a header that is no object',
    'format',
    'kubernetes',
    token('kubernetes', {}, { rawHeader: '[]' }),
  ),
  refused(
    'a header with alg twice',
    'format',
    'kubernetes',
    token(
      'kubernetes',
      {},
      {
        rawHeader: '{"alg":"none","alg":"RS256","kid":"k8s-1"}',
      },
    ),
  ),
  byRaw('sub twice', json.replace('"sub":', '"sub":"other","sub":')),
  byRaw('a nested member twice', json.replace('"namespace":', '"namespace":"a","namespace":')),
  byRaw('a member twice, once with an escape', json.replace('"sub":', '"s\\u0075b":"a","sub":')),
  byRaw('no object', '[]'),
  byRaw('no JSON', json.slice(0, -1)),
  byRaw(
    'not UTF-8',
    Buffer.concat([Buffer.from('{"a":"'), Uint8Array.of(0xff), Buffer.from('"}')]),
  ),
  byRaw('a byte order mark', `\ufeff${json}`),
  byRaw('9 levels', JSON.stringify({ ...PAYLOADS.kubernetes, more: nested(8) })),
  ...[
    ['another issuer', 'https://oidc.eks.eu-west-1.amazonaws.com/id/OTHER'],
    ['a slash more', `${RULES.kubernetes.issuer}/`],
    ['letter case', RULES.kubernetes.issuer?.replace('EXAMPLE', 'example')],
    ['no issuer', undefined],
    ['a list', [RULES.kubernetes.issuer]],
  ].map(([name, iss]) => by('issuer', 'kubernetes')(`issuer: ${name}`, { iss })),
  audience('another rule', { aud: [audienceOf('github')] }),
  audience('another service', { aud: audienceOf('kubernetes').replace('id.', 'other.') }),
  audience('two audiences', {
    aud: [audienceOf('kubernetes'), 'https://kubernetes.default.svc'],
  }),
  audience('the same one twice', { aud: Array(2).fill(audienceOf('kubernetes')) }),
  audience('no audience', { aud: undefined }),
  audience('an empty list', { aud: [] }),
  audience('a list of a list', { aud: [[audienceOf('kubernetes')]] }),
  audience('audience with a slash more', { aud: `${audienceOf('kubernetes')}/` }),
  audience('the key of another workload', {
    aud: `${audienceOf('kubernetes')}/${hashOf('.')}`,
  }),
  bound('no key in the audience, where the rule wants it', { aud: audienceOf('github') }),
  bound('the key of another workload, where the rule wants it', {
    aud: `${audienceOf('github')}/${hashOf('.')}`,
  }),
  expired('expires now', {}, NOW + 3600),
  expired('a clock 5 minutes ahead of a token for 5 minutes', { exp: NOW + 300 }, NOW + 300),
  times('not valid for 61 seconds more', {}, NOW - 61),
  times('issued 61 seconds from now', { nbf: undefined }, NOW - 61),
  times('a second longer than the rule allows', { exp: NOW + 3601 }),
  times('for a year', { exp: NOW + 31_536_000 }),
  times('no exp', { exp: undefined }),
  times('no iat', { iat: undefined }),
  times('exp as text', { exp: String(NOW + 60) }),
  times('a fraction of a second', { iat: NOW - 0.5 }),
  times('nbf as text', { nbf: String(NOW) }),
  times('beyond safe integers', { exp: 1e300 }),
  by('times', 'spiffe')('a JWT-SVID without iat for longer than the rule allows', {
    exp: NOW + 301,
  }),
  byKey('a kid that the issuer does not have', 'unknown-key', { header: { kid: 'rsa-2' } }),
  byKey('no kid, and several keys', 'unknown-key', { header: { kid: undefined } }),
  byKey('a key for encryption', 'unknown-key', { header: { kid: 'enc' } }),
  byKey('a key of 1,024 bits', 'unknown-key', { header: { kid: 'short' } }),
  byKey('a key for another algorithm', 'unknown-key', { header: { kid: 'ps' } }),
  byKey('a key of another kind', 'unknown-key', { header: { kid: 'p256' } }),
  byKey('a key of another curve', 'unknown-key', {
    header: { alg: 'ES256', kid: 'p384' },
    key: EC384,
  }),
  byKey('a key for JWT-SVIDs, where the rule has no trust domain', 'unknown-key', {
    header: { alg: 'ES256', kid: 'svid' },
    key: EC256,
  }),
  refused(
    'a key for X.509-SVIDs',
    'unknown-key',
    'spiffe',
    token(
      'spiffe',
      {},
      {
        header: { alg: 'ES384', kid: 'x509' },
        key: EC384,
      },
    ),
  ),
  byKey('another signer', 'signature', { key: STRANGER }),
  byKey('a changed signature', 'signature', {
    changed: (bytes) => bytes.map((byte, i) => (i === 9 ? byte ^ 1 : byte)),
  }),
  byKey('a shorter signature', 'signature', { changed: (bytes) => bytes.slice(1) }),
  byKey('a longer signature', 'signature', {
    changed: (bytes) => Buffer.concat([Uint8Array.of(0), bytes]),
  }),
  ...[
    ['in DER', (bytes: Uint8Array) => derOf(bytes)],
    ['without its last byte', (bytes: Uint8Array) => bytes.slice(0, -1)],
    ['with a byte more', (bytes: Uint8Array) => Buffer.concat([bytes, Uint8Array.of(0)])],
    ['of one byte', () => Uint8Array.of(1)],
    ['of the largest numbers', () => new Uint8Array(64).fill(0xff)],
  ].map(([name, changed]) =>
    byKey(`an ECDSA signature ${name}`, 'signature', {
      header: { alg: 'ES256', kid: 'p256' },
      key: EC256,
      changed: changed as (bytes: Uint8Array) => Uint8Array,
    }),
  ),
  byKey('an ECDSA signature of zeros', 'signature', {
    header: { alg: 'ES256', kid: 'p256' },
    key: EC256,
    changed: () => new Uint8Array(64),
  }),
  refused(
    'the payload of another token',
    'signature',
    'kubernetes',
    `${head}.${token('kubernetes', { jti: 'other' }).split('.')[1]}.${signature}`,
  ),
  pods('another service account', { sub: 'system:serviceaccount:crawl:other' }),
  pods('a Secret, which has no pod', { 'kubernetes.io': { ...kubernetes, pod: undefined } }),
  pods('a pod without a uid', {
    'kubernetes.io': { ...kubernetes, pod: { name: 'a', uid: '' } },
  }),
  by('claim', 'namespace')('a rule that does not pin the service account', {
    ...PAYLOADS.kubernetes,
    aud: audienceOf('namespace'),
  }),
  runs('a fork, or a repository that was registered again', { repository_id: '75' }),
  runs('another environment', { environment: 'staging' }),
  runs('no environment', { environment: undefined }),
  runs('pull_request_target, unless the rule names it', { event_name: 'pull_request_target' }),
  runs('workflow_run, unless the rule names it', { event_name: 'workflow_run' }),
  by('claim', 'githubRuns')('an event that the rule does not name', {
    ...PAYLOADS.github,
    aud: `${audienceOf('githubRuns')}/${THUMBPRINT}`,
    event_name: 'pull_request_target',
  }),
  by('claim', 'gitlab')('a pipeline of a fork', { project_id: '21' }),
  by('claim', 'gitlab')('a branch that is not protected', { ref_protected: 'false' }),
  by('claim', 'google')('another project, with the same name of the machine', {
    google: { compute_engine: { project_id: 'other', instance_name: 'crawler-1' } },
  }),
  by('claim', 'google')('an account without a machine', { google: undefined }),
  by('claim', 'spiffe')('a federated trust domain', { sub: 'spiffe://other.example/crawler' }),
  by('claim', 'spiffe')('a trust domain that begins alike', {
    sub: 'spiffe://example.org.evil/crawler',
  }),
  by('claim', 'spiffe')('a longer path', { sub: 'spiffe://example.org/crawler/2' }),
  typeOf('another normalization', { text: 'e\u0301' }),
  typeOf('letter case of a value', { text: 'É' }),
  typeOf('a list for a string', { text: ['é'] }),
  typeOf('a number for a boolean', { flag: 1 }),
  typeOf('a string for a boolean', { flag: 'true' }),
  typeOf('null', { flag: null }),
  typeOf('a missing claim', { flag: undefined }),
  typeOf('none of the list', { list: 'c' }),
  typeOf('the list itself', { list: ['a', 'b'] }),
  typeOf('an object', { list: { a: 'a' } }),
  typeOf('a pointer into an array', { deep: [{ '~': 'x' }] }),
  typeOf('a member that is not escaped', { deep: { a: { b: { '~': 'x' } } } }),
  labelled('no label', { labels: {} }),
  labelled('a label that is a number', { labels: { agent: 7 } }),
  labelled('an empty label', { labels: { agent: '' } }),
  labelled('a label of 129 characters', { labels: { agent: 'x'.repeat(129) } }),
  labelled('a label with a line break', { labels: { agent: 'a\nb' } }),
]

/** The form of other protocols than JWS (RFC 3279 section 2.2.3). */
function derOf(signature: Uint8Array): Uint8Array {
  const numbers = [signature.slice(0, 32), signature.slice(32)].map((bytes) =>
    Buffer.concat([Uint8Array.of(2, 33, 0), bytes]),
  )
  return Buffer.concat([Uint8Array.of(0x30, 70), ...numbers])
}
