import { generateKeyPairSync } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { CompactSign } from 'jose'
import { HOSTS } from './example-service.ts'
import { signInAgain } from './record-accounts.ts'
import type { World } from './world.ts'

/** Ada connects the organisation to its identity provider, at which a colleague signs in. */
export async function recordOrganisationSignIn(world: World): Promise<void> {
  const { ada, anyone } = world
  await signInAgain(world)
  const idp = await serveIdentityProvider(world)
  const path = '/api/account/sso?organisation=acme'
  await ada.record('connectSso', 'PUT', path, {
    body: {
      issuer: ISSUER,
      clientId: 'countersign',
      clientSecret: 'a-secret-of-the-client',
      groupClaim: 'groups',
      roleMap: { [GROUP]: 'manager' },
      subjectClaim: 'sub',
    },
  })
  await ada.record('ssoConnection', 'GET', path)
  const colleague = anyone.another()
  const begun = await colleague.record(
    'beginOrganisationSignIn',
    'POST',
    '/sign-in/organisation?name=acme',
    { body: {} },
  )
  const back = idp.authorize(String(begun.redirect))
  await colleague.record('organisationSignInCallback', 'GET', back, { status: 303 })
  await ada.record('linkSso', 'POST', '/api/account/sso/link?organisation=acme', { body: {} })
  await ada.record('disconnectSso', 'DELETE', path, { status: 204 })
}

const GROUP = 'f3b6a1c4-0d5e-4a79-9a53-2c1d7e8b6f40'
const ISSUER = `https://${HOSTS.login}`

/** An identity provider that signs everybody in as the same person. */
async function serveIdentityProvider({ service: { site } }: World) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const json = (value: object) => ({
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(value),
  })
  const key = { ...publicKey.export({ format: 'jwk' }), use: 'sig', alg: 'ES256' }
  const metadata = {
    issuer: ISSUER,
    authorization_endpoint: `${ISSUER}/authorize`,
    token_endpoint: `${ISSUER}/token`,
    jwks_uri: `${ISSUER}/jwks`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
    subject_types_supported: ['pairwise'],
    id_token_signing_alg_values_supported: ['ES256'],
  }
  site.serve('/.well-known/openid-configuration', json(metadata))
  site.serve('/jwks', json({ keys: [key] }))
  let nonce = ''
  site.serve('/token', async (request, response) => {
    const isCode = new URLSearchParams(await text(request)).get('code') === 'a-code'
    const now = Math.floor(Date.now() / 1000)
    const claims = {
      iss: ISSUER,
      aud: 'countersign',
      sub: '5b1c',
      iat: now,
      exp: now + 60,
      auth_time: now,
      nonce,
      name: 'Grace Hopper',
      groups: [GROUP],
    }
    const id_token = await new CompactSign(Buffer.from(JSON.stringify(claims)))
      .setProtectedHeader({ alg: 'ES256' })
      .sign(privateKey)
    const answer = isCode
      ? { access_token: 'a-token', token_type: 'Bearer', id_token }
      : { error: 'invalid_grant' }
    response.writeHead(isCode ? 200 : 400, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer))
  })
  return {
    authorize(redirect: string): string {
      const { searchParams } = new URL(redirect)
      nonce = searchParams.get('nonce') ?? ''
      const callback = new URL(searchParams.get('redirect_uri') ?? '')
      const state = searchParams.get('state') ?? ''
      return `${callback.pathname}?${new URLSearchParams({ code: 'a-code', state })}`
    },
  }
}
