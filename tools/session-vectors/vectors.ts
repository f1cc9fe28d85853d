import { createHmac, createPrivateKey, createPublicKey, sign } from 'node:crypto'

const SHOP = 'https://shop.example'
const BANK = 'https://bank.example'
const NOW = 1_800_000_000
const SECRET = 'a secret of at least thirty-two bytes'
const FORMER_SECRET = 'the secret before it, as long as that'
const NONCE = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYX'
const DID = 'svc:agent:7Xk2mPqR9sTvWyZaBcDeFgHj'

const base64Url = (text: string | Uint8Array) => Buffer.from(text).toString('base64url')

function keyOf(seedHex: string) {
  const der = Buffer.from(`302e020100300506032b657004220420${seedHex}`, 'hex')
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' })
  const publicKey = Buffer.from(x, 'base64url').toString('base64')
  return { privateKey, publicKey }
}

const agent = keyOf('01'.repeat(32))
const stranger = keyOf('02'.repeat(32))

const CHALLENGE = `svc-challenge-v1:${SHOP}:${NONCE}`

function answer(challenge = CHALLENGE, signed = challenge, key = agent) {
  const signature = sign(null, Buffer.from(signed), key.privateKey).toString('base64')
  return { publicKey: agent.publicKey, challenge, signature }
}

/** Another last letter of base64 for the same bytes: its lowest bits do not count. */
const otherSpelling = (text: string) =>
  text.replace(/.(?==*$)/, (letter) => String.fromCharCode(letter.charCodeAt(0) + 1))

const HEADER = '{"alg":"HS256","typ":"agent-session+jwt"}'
const CLAIMS = {
  iss: SHOP,
  aud: SHOP,
  sub: DID,
  iat: NOW - 60,
  exp: NOW + 840,
  identityLevel: 'in-person',
  keySequence: 2,
}
/** JSON of the claims with a member more. */
const withMore = (json: string) => JSON.stringify(CLAIMS).replace(/\}$/, `,"more":${json}}`)
const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

/** What parsers of JSON read differently. */
const ODD = {
  NaN: withMore('NaN'),
  '-Infinity': withMore('-Infinity'),
  'a byte order mark': `\ufeff${JSON.stringify(CLAIMS)}`,
  '33 levels': withMore(nested(32)),
  '600 levels': withMore(nested(599)),
  'a comma too many': `${JSON.stringify(CLAIMS).slice(0, -1)},}`,
}

/** The same members without some of them. */
const without = (...names: string[]) =>
  Object.fromEntries(Object.entries(CLAIMS).filter(([name]) => !names.includes(name)))

function token(payload: object | string | Uint8Array = CLAIMS, secret = SECRET, header = HEADER) {
  const isBytes = typeof payload === 'string' || payload instanceof Uint8Array
  const signed = `${base64Url(header)}.${base64Url(isBytes ? payload : JSON.stringify(payload))}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}

const claimsOf = (over: object = {}) => ({
  did: DID,
  identityLevel: CLAIMS.identityLevel,
  keySequence: CLAIMS.keySequence,
  issuedAt: CLAIMS.iat * 1000,
  expiresAt: CLAIMS.exp * 1000,
  ...over,
})

const good = token()
const [header = '', payload = '', mac = ''] = good.split('.')
const refused = (name: string, why: string, text: string) => ({ name, why, token: text })

export const vectors = {
  shortName: 'svc',
  idHeader: 'ServiceID',
  audience: SHOP,
  now: NOW * 1000,
  secrets: [SECRET, FORMER_SECRET],
  seedHex: '01'.repeat(32),
  answers: {
    valid: [{ name: 'a challenge of this site, signed', nonce: NONCE, ...answer() }],
    invalid: [
      {
        name: 'another audience',
        why: 'audience',
        ...answer(`svc-challenge-v1:${BANK}:${NONCE}`),
      },
      {
        name: 'an audience with a path',
        why: 'form',
        ...answer(`svc-challenge-v1:${SHOP}/:${NONCE}`),
      },
      { name: 'no audience', why: 'form', ...answer(NONCE) },
      { name: 'a nonce of 21 characters', why: 'form', ...answer(CHALLENGE.slice(0, -11)) },
      {
        name: 'the challenge of another deployment',
        why: 'form',
        ...answer(CHALLENGE.replace('svc', 'acme')),
      },
      {
        name: 'signed by another key',
        why: 'signature',
        ...answer(CHALLENGE, CHALLENGE, stranger),
      },
      {
        name: 'signed with a line break at the end',
        why: 'signature',
        ...answer(CHALLENGE, `${CHALLENGE}\n`),
      },
      {
        name: 'the signature of another challenge',
        why: 'signature',
        ...answer(CHALLENGE, `svc-challenge-v1:${BANK}:${NONCE}`),
      },
      {
        name: 'a signature in another spelling of the same bytes',
        why: 'signature',
        ...answer(),
        signature: otherSpelling(answer().signature),
      },
      {
        name: 'a signature in base64url',
        why: 'signature',
        ...answer(),
        signature: answer().signature.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, ''),
      },
    ],
  },
  tokens: {
    valid: [
      { name: 'a session', token: good, claims: claimsOf() },
      {
        name: 'in its last second',
        token: token({ ...CLAIMS, exp: NOW + 1 }),
        claims: claimsOf({ expiresAt: (NOW + 1) * 1000 }),
      },
      {
        name: 'made with the former secret',
        token: token(CLAIMS, FORMER_SECRET),
        claims: claimsOf(),
      },
      {
        name: 'of an earlier release, without keySequence: the first key',
        token: token(without('keySequence')),
        claims: claimsOf({ keySequence: 1 }),
      },
      {
        name: 'members in another order, white space, and one more',
        token: token(
          JSON.stringify(
            { tenant: 'a', ...Object.fromEntries(Object.entries(CLAIMS).reverse()) },
            null,
            1,
          ),
        ),
        claims: claimsOf(),
      },
      {
        name: 'a member of 31 levels, and a number of 400 digits',
        token: token(withMore(`${nested(31)},"n":${'9'.repeat(400)}`)),
        claims: claimsOf(),
      },
      {
        name: 'an owner who is not verified',
        token: token({ ...CLAIMS, identityLevel: 'unverified' }),
        claims: claimsOf({ identityLevel: 'unverified' }),
      },
    ],
    invalid: [
      refused('nothing', 'form', ''),
      refused('two parts', 'form', `${header}.${payload}`),
      refused('an empty MAC', 'form', `${header}.${payload}.`),
      refused('four parts', 'form', `${good}.x`),
      refused('padding', 'form', `${good}=`),
      refused('white space', 'form', ` ${good}`),
      refused('over 2,048 characters', 'form', token({ ...CLAIMS, more: 'x'.repeat(2048) })),
      refused('alg none', 'header', `${base64Url('{"alg":"none"}')}.${payload}.`),
      refused('a plain JWT', 'header', token(CLAIMS, SECRET, '{"alg":"HS256","typ":"JWT"}')),
      refused(
        'another spelling of the header',
        'header',
        token(CLAIMS, SECRET, '{"typ":"agent-session+jwt","alg":"HS256"}'),
      ),
      refused('another secret', 'mac', token(CLAIMS, 'another secret, as long as the first')),
      refused(
        'another agent in the payload',
        'mac',
        `${header}.${base64Url(JSON.stringify({ ...CLAIMS, sub: DID.replace('7', '8') }))}.${mac}`,
      ),
      refused('a shorter MAC', 'mac', `${header}.${payload}.${mac.slice(0, -2)}`),
      refused('no MAC bytes', 'mac', `${header}.${payload}.AA`),
      refused('expired at this moment', 'expired', token({ ...CLAIMS, exp: NOW })),
      refused('another audience', 'audience', token({ ...CLAIMS, iss: BANK, aud: BANK })),
      refused('a list of audiences', 'audience', token({ ...CLAIMS, aud: [SHOP] })),
      refused('no audience', 'audience', token(without('aud'))),
      refused('no agent', 'claims', token(without('sub'))),
      refused('no expiry', 'claims', token(without('exp'))),
      refused('an expiry as text', 'claims', token({ ...CLAIMS, exp: '1800000840' })),
      refused('no identity level', 'claims', token(without('identityLevel'))),
      refused('keySequence 0', 'claims', token({ ...CLAIMS, keySequence: 0 })),
      refused('keySequence as text', 'claims', token({ ...CLAIMS, keySequence: '2' })),
      ...Object.entries(ODD).map(([name, json]) => refused(name, 'claims', token(json))),
      refused('a payload that is not JSON', 'claims', token('{')),
      refused('a payload that is no object', 'claims', token('null')),
      refused('a payload that is not UTF-8', 'claims', token(Uint8Array.of(0x22, 0xff, 0x22))),
    ],
  },
  signInUrls: {
    requestUrl: `${SHOP}/orders?page=2`,
    valid: [
      ['a path', 'ServiceID sign_in="/agent-sign-in", Bearer', '/agent-sign-in'],
      ['an address', `ServiceID sign_in="${SHOP}:443/in"`, '/in'],
      ['letter case and white space', 'serviceid  SIGN_IN = "/in"', '/in'],
      [
        'other parameters and schemes',
        'Basic realm="a, b", ServiceID realm="c", sign_in="/in"',
        '/in',
      ],
      ['a scheme with token68', 'Basic dXNlcjpwYXNz==, ServiceID sign_in="/in"', '/in'],
      ['an escaped character', 'ServiceID sign_in="\\/in"', '/in'],
    ].map(([name, field, path]) => ({ name, field, url: `${SHOP}${path}` })),
    invalid: [
      ['none', 'ServiceID, Bearer', 'none'],
      ['the parameter of another scheme', 'ServiceID, Bearer sign_in="/in"', 'scheme'],
      ['another deployment', 'AcmeID sign_in="/in"', 'scheme'],
      ['within a quoted string', 'Bearer realm="ServiceID sign_in=/in"', 'scheme'],
      ['twice', 'ServiceID sign_in="/a", sign_in="/b"', 'ambiguous'],
      ['an open quotation', 'ServiceID sign_in="/in', 'form'],
      ['another host', `ServiceID sign_in="${BANK}/in"`, 'origin'],
      ['another host without a scheme', 'ServiceID sign_in="//bank.example/in"', 'origin'],
      ['plain http', 'ServiceID sign_in="http://shop.example/in"', 'origin'],
      ['credentials', 'ServiceID sign_in="https://user@shop.example/in"', 'origin'],
    ].map(([name, field, why]) => ({ name, why, field })),
  },
}
