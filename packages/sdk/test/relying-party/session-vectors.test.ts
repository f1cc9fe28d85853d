import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { formatChallenge, parseChallenge } from '@countersign/protocol'
import { ROOT } from '../../../../test/support/service.ts'
import { Agent } from '../../src/agent.ts'
import { keyFromJwk } from '../../src/keys/keys.ts'
import { isSignedChallenge, type SignedChallenge } from '../../src/keys/signed-challenge.ts'
import { namingOf } from '../../src/naming.ts'
import { Registry } from '../../src/registry.ts'
import { macsOf } from '../../src/relying-party/hmac.ts'
import { type SessionClaims, sessionTokens } from '../../src/relying-party/session-token.ts'
import { signInUrlOf } from '../../src/signed-requests/sign-in-url.ts'

interface Case {
  readonly name: string
  readonly why: string
}
interface Cases<Valid, Invalid> {
  readonly valid: readonly (Case & Valid)[]
  readonly invalid: readonly (Case & Invalid)[]
}
interface Vectors {
  readonly shortName: string
  readonly idHeader: string
  readonly audience: string
  readonly now: number
  readonly secrets: readonly string[]
  readonly seedHex: string
  readonly answers: Cases<SignedChallenge & { readonly nonce: string }, SignedChallenge>
  readonly tokens: Cases<
    { readonly token: string; readonly claims: SessionClaims },
    { readonly token: string }
  >
  readonly signInUrls: Cases<
    { readonly field: string; readonly url: string },
    { readonly field: string }
  > & { readonly requestUrl: string }
}

const vectors: Vectors = JSON.parse(readFileSync(join(ROOT, 'vectors/sessions.json'), 'utf8'))
const { shortName, idHeader, audience, now, secrets, answers, tokens, signInUrls } = vectors
const naming = namingOf({ shortName, idHeader })

test('the answers of vectors/sessions.json', async () => {
  for (const { name, nonce, ...answer } of answers.valid) {
    assert.equal(formatChallenge(naming, { audience, nonce }), answer.challenge, name)
    assert.equal(await isSignedChallenge(answer), true, name)
    const x = Buffer.from(answer.publicKey, 'base64').toString('base64url')
    const d = Buffer.from(vectors.seedHex, 'hex').toString('base64url')
    const signer = await keyFromJwk({ kty: 'OKP', crv: 'Ed25519', x, d })
    const agent = new Agent({ registry: new Registry('https://id.example'), signer })
    assert.deepEqual(await agent.answer(answer.challenge, { audience }), answer, name)
  }
  for (const { name, why, ...answer } of answers.invalid) {
    const parsed = parseChallenge(naming, answer.challenge)
    const isOurs = parsed?.audience === audience
    const found = parsed === null ? 'form' : isOurs ? 'signature' : 'audience'
    assert.equal(found, why, name)
    if (why === 'signature') assert.equal(await isSignedChallenge(answer), false, name)
  }
})

test('the tokens of vectors/sessions.json', async () => {
  const reader = sessionTokens(audience, macsOf(secrets))
  for (const { name, token, claims } of tokens.valid) {
    assert.deepEqual(await reader.read(token, now), claims, name)
  }
  const [first] = tokens.valid
  assert.equal(await reader.issue(first?.claims as SessionClaims), first?.token)
  for (const { name, token } of tokens.invalid) {
    assert.equal(await reader.read(token, now), null, name)
  }
})

test('the sign-in URLs of vectors/sessions.json', () => {
  const urlIn = (field: string) => {
    const response = new Response(null, { status: 401, headers: { 'www-authenticate': field } })
    return signInUrlOf(response, signInUrls.requestUrl, idHeader)?.href ?? null
  }
  for (const { name, field, url } of signInUrls.valid) assert.equal(urlIn(field), url, name)
  for (const { name, field } of signInUrls.invalid) assert.equal(urlIn(field), null, name)
})
