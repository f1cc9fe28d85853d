import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import {
  type IssuerJwk,
  keyThumbprint,
  TOKEN_TYPES,
  type TokenType,
  verifyToken,
} from '@countersign/protocol'
import { createLocalJWKSet, exportJWK, jwtVerify } from 'jose'
import {
  certificateOf,
  keySetOf,
  stapleOf,
  verifyWithJwk,
} from '../../../../../test/support/agent-certificates.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { newKey } from '../../../../../test/support/key.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { IssuerKeyRing } from '../../../src/secrets/issuer-keys/issuer-keys.ts'

const TYPES = Object.values(TOKEN_TYPES)

const openRing = ({ operator, settings }: TestService) =>
  IssuerKeyRing.open({
    db: operator.db,
    folders: settings,
    now: Date.now,
    // It is not refreshed here.
    elapsed: () => 0,
    certificateLifetimeMs: 1,
  })

/** A service, a token of each type that its keys sign, and its verifiers. */
async function startWithTokens(t: TestContext) {
  const service = await startTestService(t)
  const key = newKey()
  const did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  const certificate = await certificateOf(service, did)
  const { keys } = await keySetOf(service)
  const issuer = service.url
  const ring = await openRing(service)
  const now = Math.floor(Date.now() / 1000)
  const claims = JSON.parse(Buffer.from(certificate.split('.')[1] ?? '', 'base64url').toString())
  const tokens = new Map<TokenType, string>([
    [TOKEN_TYPES.certificate, certificate],
    [TOKEN_TYPES.staple, await stapleOf(service, did)],
  ])
  // Their claims are those of a certificate, so that nothing but their type gives them away.
  for (const typ of TYPES) if (!tokens.has(typ)) tokens.set(typ, await ring.sign(typ, claims))
  const accepts = (token: string, typ: TokenType) =>
    verifyToken(token, { typ, issuer, keys, now }, verifyWithJwk).then(
      () => true,
      () => false,
    )
  return { service, key, keys, issuer, claims, certificate, tokens, accepts }
}

test('no type of token is accepted in the place of another', async (t) => {
  const { service, tokens, accepts, keys, issuer } = await startWithTokens(t)
  for (const [typ, token] of tokens) {
    for (const expected of TYPES) {
      assert.equal(await accepts(token, expected), typ === expected, `${typ} as ${expected}`)
      const key = keys[0] as IssuerJwk
      const byJose = jwtVerify(token, key, { typ: expected, issuer })
      if (typ === expected) await byJose
      else await assert.rejects(byJose, { code: 'ERR_JWT_CLAIM_VALIDATION_FAILED' })
    }
  }
  const own = JSON.parse(
    (await ask(service, '/.well-known/http-message-signatures-directory')).text,
  ) as { keys: { kid: string }[] }
  const kids = own.keys.map(({ kid }) => kid)
  assert.ok(
    keys.every(({ kid }) => !kids.includes(kid)),
    'each purpose has its own key',
  )
})

test('grants and tokens of the service are never accepted in the place of each other', async (t) => {
  const { service, keys, issuer, claims, tokens, accepts } = await startWithTokens(t)
  const ring = await openRing(service)
  const id = 'a'.repeat(32)
  const grantIssuer = `${issuer}/oauth/issuers/${id}`
  // Whatever an attacker could get into a grant: its keys are not those of the service.
  for (const iss of [issuer, grantIssuer]) {
    const grant = ring.signGrant(id, { ...claims, iss })
    for (const typ of TYPES) assert.equal(await accepts(grant, typ), false, typ)
    const p256 = keys.find(({ kty }) => kty === 'EC') as IssuerJwk
    await assert.rejects(jwtVerify(grant, p256), { code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED' })
  }
  const grantKeys = ring.grantKeySet(id)
  for (const token of tokens.values()) {
    await assert.rejects(jwtVerify(token, createLocalJWKSet(grantKeys)), {
      code: 'ERR_JWKS_NO_MATCHING_KEY',
    })
  }
  const otherTenant = createLocalJWKSet(ring.grantKeySet('b'.repeat(32)))
  const grant = ring.signGrant(id, { ...claims, iss: grantIssuer })
  await jwtVerify(grant, createLocalJWKSet(grantKeys), { typ: 'authorization-grant+jwt' })
  await assert.rejects(jwtVerify(grant, otherTenant), { code: 'ERR_JWKS_NO_MATCHING_KEY' })
})

test('a token is refused whose key comes from itself, from the agent, or from another issuer', async (t) => {
  const { key, keys, claims, certificate, accepts, issuer } = await startWithTokens(t)
  const attacker = generateKeyPairSync('ed25519')
  const jwk = await exportJWK(attacker.publicKey)
  const kid = keyThumbprint(Buffer.from(jwk.x as string, 'base64url'))
  const [ed25519, p256] = keys as [IssuerJwk, IssuerJwk]
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const forge = (header: object, by: (input: string) => Buffer): string => {
    const input = `${encode({ typ: 'dc+sd-jwt', alg: 'EdDSA', ...header })}.${encode(claims)}`
    return `${input}.${by(input).toString('base64url')}`
  }
  const byAttacker = (input: string) => sign(null, Buffer.from(input), attacker.privateKey)
  const byAgent = (input: string) => sign(null, Buffer.from(input), key.privateKey)
  const byHmac = (input: string) =>
    createHmac('sha512', Buffer.from(ed25519.x, 'base64url')).update(input).digest()
  const [head = '', body = '', signature = ''] = certificate.split('.')
  const header = JSON.parse(Buffer.from(head, 'base64url').toString()) as object
  const tampered = (extra: object) => `${encode({ ...header, ...extra })}.${body}.${signature}`
  const forged = {
    'a key of its own': forge({ kid }, byAttacker),
    'the kid of the issuer': forge({ kid: ed25519.kid }, byAttacker),
    jwk: forge({ kid, jwk }, byAttacker),
    jku: forge({ kid, jku: 'https://attacker.example/jwks.json' }, byAttacker),
    x5u: forge({ kid, x5u: 'https://attacker.example/x5u.pem' }, byAttacker),
    x5c: forge({ kid: ed25519.kid, x5c: ['MIIB'] }, byAttacker),
    crit: tampered({ crit: ['b64'], b64: false }),
    'jku beside a good signature': tampered({ jku: 'https://attacker.example/jwks.json' }),
    'the key of the agent': forge({ kid: ed25519.kid }, byAgent),
    'HMAC with the public key': forge({ kid: ed25519.kid, alg: 'HS512' }, byHmac),
    'no algorithm': forge({ kid: ed25519.kid, alg: 'none' }, () => Buffer.alloc(64)),
    'the algorithm of another key': forge({ kid: ed25519.kid, alg: 'ES256' }, byAttacker),
    'an Ed25519 signature for the P-256 key': forge({ kid: p256.kid }, byAttacker),
    'other claims': `${head}.${encode({ ...claims, grade: 'A' })}.${signature}`,
  }
  assert.equal(await accepts(certificate, TOKEN_TYPES.certificate), true)
  assert.equal(await accepts(`${certificate}~`, TOKEN_TYPES.certificate), true)
  for (const [name, token] of Object.entries(forged))
    assert.equal(await accepts(token, TOKEN_TYPES.certificate), false, name)
  const elsewhere = { typ: TOKEN_TYPES.certificate, issuer: `${issuer}.example`, keys, now: 0 }
  await assert.rejects(verifyToken(certificate, elsewhere, verifyWithJwk), /was not issued by/)
})
