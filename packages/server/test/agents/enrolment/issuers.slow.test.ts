import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { enrolmentMessage } from '@countersign/protocol'
import OidcProvider from 'oidc-provider'
import { assertRefused } from '../../../../../test/support/answer.ts'
import { newKey } from '../../../../../test/support/key.ts'
import {
  enrol,
  enrolmentBody,
  newPlatform,
  ruleFor,
  startIssuer,
} from '../../../../../test/support/platform.ts'
import { pythonFor } from '../../../../../test/support/python.ts'
import {
  type Cleanup,
  run,
  startTestService,
  tempDir,
} from '../../../../../test/support/service.ts'
import { needs } from '../../../../../test/support/tools.ts'
import { randomKeyNames } from './random-key-names.ts'
import { assertUnavailable, didIn, newOwner, newRule } from './with-rules.ts'

const MINUTE_MS = 60_000
const CLIENT = { client_id: 'crawler', client_secret: 'a secret of the workload' }

/** oidc-provider, whose access tokens are JWTs for one resource. */
interface Provider {
  readonly issuer: string
  /** Replaces its keys, as a restart with new ones does. */
  rotate(kid: string): void
  /** Gets a token for an audience by the grant of client credentials. */
  token(resource: string): Promise<string>
  /** The `typ` of its tokens; by default that of RFC 9068. */
  type: string
}

async function startProvider(t: Cleanup): Promise<Provider> {
  let handle: RequestListener = () => undefined
  const server = createServer((request, response) => handle(request, response))
  await new Promise<void>((listening) => server.listen(0, 'localhost', listening))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const issuer = `http://localhost:${(server.address() as AddressInfo).port}`
  const provider: Provider = {
    issuer,
    type: 'at+jwt',
    rotate(kid) {
      const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
      const key = { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid }
      handle = new OidcProvider(issuer, {
        clients: [
          { ...CLIENT, grant_types: ['client_credentials'], redirect_uris: [], response_types: [] },
        ],
        cookies: { keys: ['a key for cookies that nobody gets'] },
        features: {
          devInteractions: { enabled: false },
          clientCredentials: { enabled: true },
          resourceIndicators: {
            enabled: true,
            getResourceServerInfo: (_context, resource) => ({
              scope: '',
              audience: resource,
              accessTokenFormat: 'jwt',
              accessTokenTTL: 600,
              jwt: { sign: { alg: 'RS256' } },
            }),
          },
        },
        formats: {
          customizers: {
            jwt: (_context, _token, parts) => {
              parts.header = { ...parts.header, typ: provider.type }
            },
          },
        },
        jwks: { keys: [key] },
      }).callback()
    },
    async token(resource) {
      const { client_id, client_secret } = CLIENT
      const credentials = Buffer.from(`${client_id}:${encodeURIComponent(client_secret)}`).toString(
        'base64',
      )
      const response = await fetch(`${issuer}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${credentials}` },
        body: new URLSearchParams({ grant_type: 'client_credentials', resource }),
      })
      const text = await response.text()
      assert.equal(response.status, 200, text)
      return (JSON.parse(text) as { access_token: string }).access_token
    },
  }
  provider.rotate('key-1')
  return provider
}

test('oidc-provider as the issuer: discovery, its tokens, and a rotation of its keys', async (t) => {
  let elapsed = 1_000_000
  const service = await startTestService(t, {}, Date.now, () => elapsed)
  const owner = await newOwner(service)
  const provider = await startProvider(t)
  const platform = { ...newPlatform(), issuer: provider.issuer }
  const match = { '/sub': CLIENT.client_id, '/client_id': CLIENT.client_id }
  const more = { keys: { discovery: true }, match, agentId: null, agentIdClaim: '/sub' }
  const rule = await newRule(owner, ruleFor(platform, more))
  const key = newKey()
  const send = async () =>
    enrol(service, enrolmentBody(service, rule.id, await provider.token(rule.audience), key))
  assertRefused(await send(), 403, 'FORBIDDEN', /\(header\)/)
  provider.type = 'JWT'
  const did = didIn(await send())
  const other = enrolmentBody(service, rule.id, await provider.token('https://other.example'), key)
  assertRefused(await enrol(service, other), 403, 'FORBIDDEN', /\(audience\)/)
  provider.rotate('key-2')
  assertUnavailable(await send())
  elapsed += MINUTE_MS
  assert.equal(didIn(await send(), 200), did)
})

/** Prints a JWK Set and tokens of PyJWT and JWCrypto for an issuer, an audience and a subject. */
const MAKE_TOKENS = `
import json, sys, time, uuid
import jwt
from jwcrypto import jwk, jwt as jwc
issuer, audience, subject = sys.argv[1:]
now = int(time.time())
claims = lambda: {"iss": issuer, "aud": audience, "sub": subject, "iat": now, "nbf": now, "exp": now + 300, "jti": str(uuid.uuid4())}
keys, tokens = [], []
# Large keys of RSA take seconds to make: each size once.
made = {size: jwk.JWK.generate(kty="RSA", size=size) for size in (2048, 3072, 4096)}
for alg, known in {
    "RS256": made[2048], "RS384": made[3072], "RS512": made[4096],
    "PS256": made[2048], "PS384": made[2048], "PS512": made[2048],
    "ES256": jwk.JWK.generate(kty="EC", crv="P-256"), "ES384": jwk.JWK.generate(kty="EC", crv="P-384"),
    "ES512": jwk.JWK.generate(kty="EC", crv="P-521"),
}.items():
    key = jwk.JWK(**{**known.export_private(as_dict=True), "kid": alg})
    keys.append(key.export_public(as_dict=True))
    tokens.append(["PyJWT " + alg, jwt.encode(claims(), key.export_to_pem(True, None), alg, {"kid": alg})])
    own = jwc.JWT(header={"alg": alg, "kid": alg, "typ": "JWT"}, claims=claims())
    own.make_signed_token(key)
    tokens.append(["JWCrypto " + alg, own.serialize()])
print(json.dumps({"keys": keys, "tokens": tokens}))
`

const PYTHON = pythonFor('jwt', 'jwcrypto')

test('tokens of PyJWT and JWCrypto with every algorithm enrol', PYTHON.options, async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service)
  const platform = newPlatform()
  // The keys come with the tokens, which need the audience of the rule.
  const rule = await newRule(owner, ruleFor(platform, { match: { '/sub': 'a' } }))
  const args = ['-c', MAKE_TOKENS, platform.issuer, rule.audience, 'a']
  const { code, stdout, stderr } = await run(PYTHON.path, args, PYTHON.env)
  assert.equal(code, 0, stderr)
  const { keys, tokens } = JSON.parse(stdout) as { keys: object[]; tokens: [string, string][] }
  const changed = await owner.send('PATCH', `/api/account/enrolment/rules/${rule.id}`, {
    keys: { jwks: { keys } },
  })
  assert.equal(changed.status, 200, changed.text)
  assert.equal(tokens.length, 18)
  for (const [name, token] of tokens) {
    const answer = await enrol(service, enrolmentBody(service, rule.id, token))
    assert.equal(answer.status, 201, `${name}: ${answer.text}`)
    const [head = '', body = '', signature = ''] = token.split('.')
    const bytes = Buffer.from(signature, 'base64url')
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
    const forged = [head, body, bytes.toString('base64url')].join('.')
    const refused = await enrol(service, enrolmentBody(service, rule.id, forged))
    assertRefused(refused, 403, 'FORBIDDEN', /\(signature\)/)
  }
})

test('OpenSSL signs an enrolment', needs('openssl'), async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service)
  const platform = newPlatform()
  const rule = await newRule(owner, ruleFor(platform, { match: { '/sub': 'a' } }))
  const dir = tempDir(t)
  const openssl = async (...args: string[]) => {
    const { code, stderr } = await run('openssl', args, {}, '', {}, dir)
    assert.equal(code, 0, stderr)
  }
  await openssl('genpkey', '-algorithm', 'ed25519', '-out', 'agent.pem')
  await openssl('pkey', '-in', 'agent.pem', '-pubout', '-outform', 'DER', '-out', 'public.der')
  const publicKey = readFileSync(join(dir, 'public.der')).subarray(-32)
  const token = await platform.token({ aud: rule.audience, sub: 'a' })
  const issuedAt = Math.floor(Date.now() / 1000)
  const { baseUrl, naming } = service.settings
  const signed = { service: baseUrl.origin, rule: rule.id, token, publicKey, issuedAt }
  writeFileSync(join(dir, 'message'), enrolmentMessage(naming, signed))
  const sign = ['pkeyutl', '-sign', '-rawin', '-inkey', 'agent.pem', '-in', 'message']
  await openssl(...sign, '-out', 'signature')
  const signature = readFileSync(join(dir, 'signature')).toString('base64')
  const body = { rule: rule.id, token, publicKey: publicKey.toString('base64'), issuedAt }
  didIn(await enrol(service, { ...body, signature }))
})

randomKeyNames(2_000)

test('issuers that never answer: no rule is created, enrolments get 503, and eight are waited for at once', async (t) => {
  let elapsed = 1_000_000
  const service = await startTestService(t, {}, Date.now, () => elapsed)
  const owner = await newOwner(service)
  const match = { '/sub': 'a' }
  const all = await Promise.all(
    Array.from({ length: 9 }, async () => {
      const issuer = await startIssuer(t)
      const platform = newPlatform(issuer.url)
      issuer.jwks = platform.jwks
      const discovered = ruleFor(platform, { keys: { discovery: true }, match })
      const rule = await newRule(owner, discovered)
      const token = await platform.token({ aud: rule.audience, sub: 'a' })
      return { issuer, discovered, body: enrolmentBody(service, rule.id, token) }
    }),
  )
  for (const { issuer } of all) issuer.isSilent = true
  elapsed += 60 * MINUTE_MS
  const answers = await Promise.all(all.map(({ body }) => enrol(service, body)))
  for (const answer of answers) assertUnavailable(answer)
  assert.equal(answers.filter(({ text }) => text.includes('Too many keys')).length, 1)
  const created = await owner.post('/api/account/enrolment/rules', all[0]?.discovered)
  assertRefused(created, 400, 'VALIDATION_ERROR', /cannot be read.*in time/)
})
