import assert from 'node:assert/strict'
import type { KeyObject } from 'node:crypto'
import { test } from 'node:test'
import type { CallbackFailure } from '@countersign/protocol'
import { SignJWT } from 'jose'
import {
  beginIdentity,
  comeBack,
  signInNewcomer,
} from '../../../../../test/support/verify-identity.ts'
import { type Answer, startLoopbackServer } from '../../http/outbound/support/loopback-server.ts'
import { CLIENT_ID, newKeys, providerAt, startOidcServer } from '../identity/oidc-server.ts'
import { startWithProviders } from '../identity/with-providers.ts'

type Test = Parameters<typeof startWithProviders>[0]

const CLAIM = 'https://vocab.account.gov.uk/v1/coreIdentityJWT'
const SUBJECT = 'subject-of-the-test'

interface Identity {
  readonly vot?: string
  readonly subject?: string
  readonly audience?: string
  readonly issuer?: string
  readonly kid?: string
  readonly key?: KeyObject
  readonly expires?: string
  /** Replaces the response of the userinfo endpoint. */
  readonly userInfo?: object
  /** Replaces the DID document. */
  readonly document?: Answer
}

/** GOV.UK One Login as documented, with both of its hosts on loopback. */
async function attempt(t: Test, identity: Identity = {}) {
  const { privateKey, publicKey } = newKeys()
  const did = 'did:web:identity.example'
  const identities = await startLoopbackServer(t, () => {
    const publicKeyJwk = publicKey.export({ format: 'jwk' })
    const assertionMethod = [
      { id: `${did}#key`, type: 'JsonWebKey', controller: did, publicKeyJwk },
    ]
    return identity.document ?? { status: 200, body: { id: did, assertionMethod } }
  })
  const server = await startOidcServer(t, {
    discovery: (right) => ({ ...right, userinfo_endpoint: `${right.issuer}/userinfo` }),
    userInfo: async () => {
      const token = await new SignJWT({ vot: identity.vot ?? 'P2' })
        .setProtectedHeader({ alg: 'ES256', kid: identity.kid ?? `${did}#key` })
        .setSubject(identity.subject ?? SUBJECT)
        .setAudience(identity.audience ?? CLIENT_ID)
        .setIssuer(identity.issuer ?? `${identities.url}/`)
        .setIssuedAt()
        .setExpirationTime(identity.expires ?? '30m')
        .sign(identity.key ?? privateKey)
      return { status: 200, body: identity.userInfo ?? { sub: SUBJECT, [CLAIM]: token } }
    },
  })
  const { acr: _, maxAge: __, ...provider } = providerAt(server.url)
  const service = await startWithProviders(t, [{ ...provider, coreIdentity: `${identities.url}/` }])
  const owner = await signInNewcomer(service)
  const { browser, redirect } = await beginIdentity(owner, 'test')
  const back = server.authorize(redirect)
  const outcome = await comeBack(browser, new URL(back.pathname + back.search, service.url))
  return { outcome, request: [...server.begun.values()][0] as URLSearchParams }
}

test('a valid core identity is requested and accepted', async (t) => {
  const { outcome, request } = await attempt(t)
  assert.equal(outcome.verified, 'test', outcome.code ?? '')
  assert.equal(request.get('vtr'), '["Cl.Cm.P2"]')
  assert.deepEqual(JSON.parse(request.get('claims') as string), { userinfo: { [CLAIM]: null } })
})

const REFUSED: Readonly<Record<string, [Identity, CallbackFailure]>> = {
  'no core identity: GOV.UK could not prove it': [{ userInfo: { sub: SUBJECT } }, 'not-verified'],
  'a lower confidence': [{ vot: 'P1' }, 'invalid-response'],
  'that of another human': [{ subject: 'another' }, 'invalid-response'],
  'one for another client': [{ audience: 'another' }, 'invalid-response'],
  'one by another issuer': [{ issuer: 'https://elsewhere.example/' }, 'invalid-response'],
  'one signed by another key': [{ key: newKeys().privateKey }, 'invalid-response'],
  'one signed by a key that is not listed': [{ kid: 'did:web:x#y' }, 'invalid-response'],
  'an expired one': [{ expires: '-1h' }, 'invalid-response'],
  'user info about another human': [{ userInfo: { sub: 'another' } }, 'invalid-response'],
  'no keys': [{ document: { status: 500 } }, 'unavailable'],
}

for (const [name, [identity, code]] of Object.entries(REFUSED)) {
  test(`rejected: ${name}`, async (t) => {
    const { outcome } = await attempt(t, identity)
    assert.equal(outcome.verified, null)
    assert.equal(outcome.code, code)
  })
}
