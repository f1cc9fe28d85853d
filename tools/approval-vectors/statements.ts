import { createHash } from 'node:crypto'
import { p256 } from '@noble/curves/nist.js'
import {
  ed25519Key,
  p256Key,
} from '../../packages/sdk/test/certificates/support/certificate-vectors.ts'
import { digest } from '../delegation-vectors/chains.ts'
import { ISSUER, keys } from '../signature-vectors/signing.ts'

const sha256 = (data: string | Uint8Array) => createHash('sha256').update(data).digest()
const bytes = (text: string | undefined) => Buffer.from(text ?? '', 'base64url')

/** What a person approves: texts, of which the statement has the digests. */
interface Question {
  readonly agent?: string | null
  readonly approval?: string
  readonly method?: string
  readonly url?: string
  readonly contentType?: string | null
  readonly body?: string | null
  readonly message?: string | null
  readonly salt?: string
  readonly seconds?: number
  readonly service?: string
}

const PURCHASE = {
  agent: keys.agent.did,
  approval: `ap_${'A'.repeat(21)}Q`,
  method: 'POST',
  url: 'https://shop.example/orders/4711/confirm',
  contentType: 'application/json' as string | null,
  body: '{"total":"129.00","currency":"EUR","to":"Example GmbH"}' as string | null,
  message: 'Printer paper, as every month' as string | null,
  salt: Buffer.alloc(32, 7).toString('base64url'),
  seconds: 600,
  service: ISSUER,
}
const BARE = { contentType: null, body: null, message: null }

const textOrNull = (text: string | null) => (text === null ? 'null' : JSON.stringify(text))
const digestOrNull = (text: string | null) => textOrNull(text === null ? null : digest(text))

/** Member by member, in the order of RFC 8785. */
function statementOf(of: typeof PURCHASE): string {
  return (
    `{"agent":"${of.agent}","approval":"${of.approval}","body":${digestOrNull(of.body)},` +
    `"contentType":${textOrNull(of.contentType)},"message":${digestOrNull(of.message)},` +
    `"method":"${of.method}","salt":"${of.salt}","seconds":${of.seconds},"service":"${of.service}","url":"${of.url}"}`
  )
}

function statement(
  name: string,
  change: Question = {},
  { shortName = 'svc', by = noAssertion } = {},
) {
  const given = { ...PURCHASE, ...change } as typeof PURCHASE
  const text = statementOf(given)
  const challenge = sha256(`${shortName}-approval-v1\n${text}`).toString('base64url')
  const isOther = shortName !== 'svc'
  return {
    name,
    ...(isOther && { shortName }),
    given,
    statement: text,
    challenge,
    ...by(challenge, given.service),
  }
}

/** `rp.id` hash, flags UP and UV, counter 1. */
const authenticatorDataOf = (service: string) =>
  Buffer.concat([sha256(new URL(service).hostname), Buffer.from('0500000001', 'hex')])

type Signing = (message: Uint8Array) => Uint8Array

/** An assertion as authenticators make it (WebAuthn Level 3 section 6.3.3), and what a token says of it. */
const assertionBy =
  (publicKey: Uint8Array, sign: Signing) => (challenge: string, service: string) => {
    const clientData = Buffer.from(
      `{"type":"webauthn.get","challenge":"${challenge}","origin":"${service}","crossOrigin":false}`,
    )
    const signed = Buffer.concat([authenticatorDataOf(service), sha256(clientData)])
    const signature = sign(signed)
    return {
      assertion: {
        publicKey: Buffer.from(publicKey).toString('base64url'),
        clientData: clientData.toString('base64url'),
        authenticatorData: authenticatorDataOf(service).toString('base64url'),
        signature: Buffer.from(signature).toString('base64url'),
      },
      evidence: sha256(Buffer.concat([signed, signature])).toString('base64url'),
    }
  }
const noAssertion: (challenge: string, service: string) => object = () => ({})

const P256_SECRET = 'e1'.repeat(32)
const p256Jwk = p256Key(P256_SECRET).jwk
const ed25519 = ed25519Key('e2'.repeat(32))
/** COSE keys (RFC 9053): kty, alg, crv, x, y. */
const P256_COSE = Buffer.concat([
  Buffer.from('a5010203262001215820', 'hex'),
  bytes(p256Jwk.x),
  Buffer.from('225820', 'hex'),
  bytes(p256Jwk.y),
])
const ED25519_COSE = Buffer.concat([
  Buffer.from('a4010103272006215820', 'hex'),
  bytes(ed25519.jwk.x),
])
const byP256 = assertionBy(P256_COSE, (message) =>
  p256.sign(message, Buffer.from(P256_SECRET, 'hex'), { format: 'der' }),
)
const byEd25519 = assertionBy(ED25519_COSE, ed25519.sign)

export const STATEMENTS = [
  statement('a purchase, by a passkey with ES256', {}, { by: byP256 }),
  statement('without a body and a message, by a passkey with EdDSA', BARE, { by: byEd25519 }),
  statement(
    'another deployment',
    { agent: keys.agent.did?.replace('svc', 'acme') ?? null },
    { shortName: 'acme' },
  ),
  statement('without a message', { message: null }),
  statement('DELETE without a body', { ...BARE, method: 'DELETE', message: 'It is sold out.' }),
  statement('a query as it is written', {
    ...BARE,
    method: 'GET',
    url: 'https://shop.example/?q=a+b&r=%C3%BC',
  }),
  statement('a body and a message outside ASCII', {
    body: '{"to":"M\u00fcller"}',
    message: 'F\u00fcr M\u00fcller \u2013 129,00 \u20ac',
  }),
  statement('a minute, on a port', { seconds: 60, url: 'https://shop.example:8443/orders' }),
  statement('an hour, of a service on loopback', {
    seconds: 3_600,
    service: 'http://localhost:8080',
  }),
  statement('a url of 1,024 characters', { url: `https://shop.example/${'a'.repeat(1_003)}` }),
]
