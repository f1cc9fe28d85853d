import {
  type Key as IssuerKey,
  token,
} from '../../packages/sdk/test/certificates/support/certificate-vectors.ts'
import {
  AGENT,
  certificate,
  chain,
  digest,
  FIRST,
  ISSUER_KEYS,
  ORIGIN,
  STRANGER,
  use,
} from '../delegation-vectors/chains.ts'
import {
  digestOf,
  type Header,
  ISSUER,
  keys,
  NOW,
  type Received,
  SHOP,
} from '../signature-vectors/signing.ts'

// Every token is built here, member by member, and signed with OpenSSL, so that the vectors do not depend on the code that they test.

const TYPE = 'svc-approval+jwt'
const FIELD = 'ServiceID-Approval'
const JSON_TYPE = 'application/json'
const BODY = '{"total":"129.00","currency":"EUR","to":"Example GmbH"}'
const PATH = '/orders/4711/confirm'
const BANK = 'https://bank.example'
/** Which approvals a verifier accepts, unless a case says otherwise. */
export const POLICY = { maxAgeSeconds: 600, by: ['passkey'], bodyCheckedByApplication: false }

/** An id that no other case has, in the form of 16 random bytes. */
const idOf = (name: string) =>
  `ap_${Buffer.from(digest(name), 'base64url').subarray(0, 16).toString('base64url')}`

/** What is odd about a token or its request. Without a change: a purchase that was approved 30 seconds ago, for 10 minutes. */
interface Change {
  readonly claims?: object
  /** Changes the text of the claims before they are signed. */
  readonly payload?: (text: string) => string
  readonly typ?: string
  readonly header?: object
  readonly key?: IssuerKey
  /** Changes the token after it was signed. */
  readonly token?: (text: string) => string
  /** What was approved. Default: what is sent. */
  readonly approved?: Sent
  readonly sent?: Sent
  /** The chain of a delegate. */
  readonly chain?: string
}

interface Sent {
  readonly method?: string
  readonly path?: string
  readonly query?: string
  readonly body?: string | null
  /** In the request. The token names the type that can be approved. */
  readonly contentType?: string
  readonly fields?: readonly Header[]
}

function claimsOf(name: string, { claims, approved, sent = {} }: Change) {
  const { method = 'POST', path = PATH, query = '', body = BODY } = approved ?? sent
  return {
    iss: ISSUER,
    sub: keys.agent.did,
    aud: SHOP,
    jti: idOf(name),
    iat: NOW - 30,
    exp: NOW + 570,
    method,
    url: SHOP + path + query,
    content: body === null ? null : { type: JSON_TYPE, sha256: digest(body) },
    by: 'passkey',
    evidence: digest('an assertion'),
    ...claims,
  }
}

function tokenOf(name: string, change: Change): string {
  const { typ = TYPE, key = ISSUER_KEYS.ed25519, header = {}, payload, token: after } = change
  const text = JSON.stringify(claimsOf(name, change))
  const signed = token(typ, payload?.(text) ?? text, key, header)
  return after?.(signed) ?? signed
}

let count = 0

/** @param value of the header with the token; null: the request has none */
function requestOf(value: string | null, { sent = {}, chain: delegates }: Change = {}): Received {
  const { method = 'POST', path = PATH, query, body = BODY, contentType = JSON_TYPE } = sent
  const hasDigest = body !== null || ['POST', 'PUT', 'PATCH'].includes(method)
  const fields: Header[] = [
    ...(body === null ? [] : [['Content-Type', contentType] as const]),
    ...(hasDigest ? [['Content-Digest', digestOf(body ?? '')] as const] : []),
    ...(sent.fields ?? []),
    ...(value === null ? [] : [[FIELD, value] as const]),
  ]
  return use(delegates ?? null, {
    by: delegates === undefined ? AGENT : FIRST,
    method,
    path,
    ...(query !== undefined && { query }),
    fields,
    nonce: `P${String(count++).padStart(21, '0')}`,
    change: { body },
  })
}

function valid(name: string, change: Change = {}, more: object = {}) {
  const { jti, by, iat, exp } = claimsOf(name, change)
  const approval = {
    id: jti,
    by,
    at: iat * 1000,
    expiresAt: exp * 1000,
    useKey: digest(`approval ${ISSUER} ${jti}`),
    useUntil: (exp + 30) * 1000,
  }
  return { name, ...more, request: requestOf(tokenOf(name, change), change), approval }
}

function refused(reason: string, name: string, change: Change = {}, more: object = {}) {
  return { name, reason, ...more, request: requestOf(tokenOf(name, change), change) }
}
const invalid = (name: string, change: Change) => refused('approval-invalid', name, change)
const mismatch = (name: string, change: Change) => refused('approval-mismatch', name, change)

const PURCHASE = 'a purchase'

/** The signature with another last character for the same bytes. */
const otherSpelling = (text: string) =>
  text.replace(/.$/, (last) => String.fromCharCode(last.charCodeAt(0) + 1))

const without = (text: string, name: string) => {
  const { [name]: _, ...others } = JSON.parse(text)
  return JSON.stringify(others)
}

export const VALID = [
  valid(PURCHASE),
  valid('ES256, a query, and a charset', {
    key: ISSUER_KEYS.p256,
    sent: { method: 'PUT', query: '?copy=a%20b', contentType: 'application/json; charset=UTF-8' },
  }),
  valid('POST without a body: the digest of the empty one', { sent: { body: null } }),
  valid(
    'DELETE without a body, by a mandate, where both count',
    { claims: { by: 'mandate' }, sent: { method: 'DELETE', body: null } },
    { policy: { ...POLICY, maxAgeSeconds: 120, by: ['mandate', 'passkey'] } },
  ),
  valid('by a delegate, within the limits of the chain', { chain: chain({}) }),
  valid('decided 60 seconds ahead, for an hour', {
    claims: { iat: NOW + 60, exp: NOW + 3_660 },
    sent: { method: 'GET', body: null },
  }),
]

const TWICE = requestOf(tokenOf('twice', {}))
const UNCOVERED = requestOf(null)
const added = (request: Received, value: string): Received => ({
  ...request,
  headers: [...request.headers, [FIELD, value]],
})

export const INVALID = [
  { name: 'no approval', reason: 'approval-required', request: requestOf(null) },
  refused('approval-required', 'by a mandate, where only a passkey counts', {
    claims: { by: 'mandate' },
  }),
  { name: 'an empty field', reason: 'approval-invalid', request: requestOf('') },
  {
    name: 'the certificate of the agent',
    reason: 'approval-invalid',
    request: requestOf(certificate()),
  },
  invalid('the type of a certificate', { typ: 'dc+sd-jwt' }),
  invalid('the type of a status', { typ: 'svc-status+jwt' }),
  invalid('the type of a security event', { typ: 'secevent+jwt' }),
  invalid('the approval of another deployment', {
    typ: 'acme-approval+jwt',
    claims: { sub: keys.agent.did?.replace('svc', 'acme') },
  }),
  invalid('an agent of another deployment', {
    claims: { sub: keys.agent.did?.replace('svc', 'acme') },
  }),
  invalid('a mark of disclosures', { token: (text) => `${text}~` }),
  invalid('two parts', { token: (text) => text.split('.').slice(0, 2).join('.') }),
  invalid('four parts', { token: (text) => `${text}.` }),
  invalid('another spelling of the signature', { token: otherSpelling }),
  invalid('over 2,560 characters', { claims: { url: `${SHOP}/${'a'.repeat(1_900)}` } }),
  invalid('a header with crit', { header: { crit: ['b64'], b64: true } }),
  invalid('its own key', { key: STRANGER, header: { jwk: STRANGER.jwk } }),
  invalid('alg none', { header: { alg: 'none' } }),
  invalid('the algorithm of another key', { header: { alg: 'ES256' } }),
  invalid('a key that the issuer does not list', { key: STRANGER }),
  invalid('signed with another key', {
    key: STRANGER,
    header: { kid: ISSUER_KEYS.ed25519.jwk.kid },
  }),
  invalid('another amount in the claims than was signed', {
    token: (text) => {
      const [head, , tail] = text.split('.')
      const claims = claimsOf('another amount', { sent: { body: BODY.replace('129', '999') } })
      return `${head}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${tail}`
    },
  }),
  invalid('a claim missing', { payload: (text) => without(text, 'evidence') }),
  invalid('a further claim', { claims: { nbf: NOW - 30 } }),
  invalid('a claim twice', { payload: (text) => text.replace('{', `{"exp":${NOW + 570},`) }),
  invalid('another issuer', { claims: { iss: BANK } }),
  invalid('a list of audiences', { claims: { aud: [SHOP] } }),
  invalid('an audience that is not the origin of the url', { claims: { aud: BANK } }),
  invalid('an id of another form', { claims: { jti: 'ap_1' } }),
  invalid('a time as text', { claims: { iat: String(NOW - 30) } }),
  invalid('more than an hour', { claims: { iat: NOW - 30, exp: NOW + 3_571 } }),
  invalid('an end before the decision', { claims: { iat: NOW + 30, exp: NOW + 30 } }),
  invalid('decided 61 seconds ahead', { claims: { iat: NOW + 61 } }),
  invalid('a digest with a member more', {
    claims: { content: { type: JSON_TYPE, sha256: digest(BODY), size: BODY.length } },
  }),
  invalid('decided by the operator', { claims: { by: 'operator' } }),
  mismatch('for another agent', { claims: { sub: keys.other.did } }),
  mismatch('for another site', { claims: { aud: BANK, url: BANK + PATH } }),
  mismatch('for another port', { claims: { aud: `${SHOP}:8443`, url: `${SHOP}:8443${PATH}` } }),
  mismatch('another path', { approved: {}, sent: { path: '/orders/4712/confirm' } }),
  mismatch('another spelling of the path', { approved: {}, sent: { path: `${PATH}/` } }),
  mismatch('a query besides', { approved: {}, sent: { query: '?copies=2' } }),
  mismatch('another method', { approved: {}, sent: { method: 'PUT' } }),
  mismatch('another amount', { approved: {}, sent: { body: BODY.replace('129', '999') } }),
  mismatch('the same values in other bytes', {
    approved: {},
    sent: { body: BODY.replaceAll(',', ', ') },
  }),
  mismatch('another content type', { sent: { contentType: 'text/json' } }),
  mismatch('another charset', { sent: { contentType: 'application/json; charset=utf-16' } }),
  mismatch('a content coding', { sent: { fields: [['Content-Encoding', 'identity']] } }),
  mismatch('a header that overrides the method', {
    sent: { fields: [['X-HTTP-Method-Override', 'DELETE']] },
  }),
  mismatch('a body where none was approved', { approved: { body: null }, sent: {} }),
  mismatch('no body where one was approved', { approved: {}, sent: { body: null } }),
  refused('approval-expired', 'at the second of its end', {
    claims: { iat: NOW - 300, exp: NOW },
  }),
  refused('approval-expired', 'decided 601 seconds ago', {
    claims: { iat: NOW - 601, exp: NOW + 2_999 },
  }),
  refused('approval-unchecked', 'decided when the store did not record yet', {
    claims: { iat: NOW - 590, exp: NOW + 600 },
  }),
  {
    name: 'once more, in another request',
    reason: 'approval-used',
    after: [PURCHASE],
    request: requestOf(tokenOf(PURCHASE, {})),
  },
  {
    name: 'once more, by a delegate',
    reason: 'approval-used',
    after: [PURCHASE],
    request: requestOf(tokenOf(PURCHASE, {}), { chain: chain({}) }),
  },
  refused('delegation-limit', 'by a delegate, outside the limits of the chain', {
    chain: chain({ limits: { ...ORIGIN, methods: ['GET'] } }),
  }),
  {
    name: 'not covered by the signature',
    reason: 'components',
    request: added(UNCOVERED, tokenOf('uncovered', {})),
  },
  {
    name: 'twice in the request',
    reason: 'malformed',
    request: added(TWICE, tokenOf('the second', {})),
  },
]
