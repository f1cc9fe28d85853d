import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import OidcProvider from 'oidc-provider'
import type { Cleanup } from '../../../../../../test/support/service.ts'
import { CLIENT_ID, CLIENT_SECRET } from '../../identity/oidc-server.ts'

/** Somebody who has an account at the identity provider. */
export interface Employee {
  readonly name: string
  readonly groups: readonly string[]
}

/** oidc-provider as the identity provider of an organisation. */
export interface IdentityProvider {
  readonly issuer: string
  /** By subject. */
  readonly employees: Map<string, Employee>
  /** The redirect URIs of the client. */
  readonly callbacks: string[]
  /** How often somebody has authenticated. */
  logins: number
}

const LOGIN = /^\/login\/[\w-]+$/

/** Starts an identity provider whose login page asks for the subject. Its ID tokens have groups and `auth_time`. */
export async function startIdentityProvider(t: Cleanup): Promise<IdentityProvider> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const started: IdentityProvider = { issuer, employees: new Map(), callbacks: [], logins: 0 }
  const provider = new OidcProvider(issuer, configurationOf(started))
  // Known when the organisation has connected.
  provider.Client.prototype.redirectUriAllowed = (uri) => started.callbacks.includes(uri)
  const callback = provider.callback()
  server.on('request', (request, response) => {
    if (!LOGIN.test(request.url ?? '')) return callback(request, response)
    logIn(provider, started, request, response).catch(() => response.writeHead(400).end())
  })
  return started
}

function configurationOf({
  issuer,
  employees,
}: IdentityProvider): ConstructorParameters<typeof OidcProvider>[1] {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { port } = new URL(issuer)
  return {
    claims: { openid: ['sub'], profile: ['name'], groups: ['groups'] },
    scopes: ['openid', 'profile', 'groups'],
    conformIdTokenClaims: false,
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        id_token_signed_response_alg: 'ES256',
        redirect_uris: ['http://127.0.0.1/'],
        response_types: ['code'],
        grant_types: ['authorization_code'],
        require_auth_time: true,
      },
    ],
    // Browsers share cookies between ports.
    cookies: {
      names: { session: `s${port}`, interaction: `i${port}`, resume: `r${port}` },
      keys: [randomBytes(32).toString('base64url')],
    },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
    },
    findAccount: (_ctx, sub) => ({
      accountId: sub,
      claims: async () => ({ sub, ...employees.get(sub) }),
    }),
    interactions: { url: (_ctx, { uid }) => `/login/${uid}` },
    jwks: {
      keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'ES256', kid: 'key-1' }],
    },
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({
        clientId: oidc.client?.clientId as string,
        accountId: oidc.session?.accountId as string,
      })
      grant.addOIDCScope('openid profile groups')
      await grant.save()
      return grant
    },
    ttl: { AccessToken: 60, AuthorizationCode: 60, Grant: 900, IdToken: 300, Session: 86_400 },
  }
}

async function logIn(
  provider: OidcProvider,
  started: IdentityProvider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  await provider.interactionDetails(request, response)
  if (request.method !== 'POST') {
    const page =
      '<!doctype html><html lang="en"><title>Log in</title><h1>Log in</h1><form method="post"><label>Subject <input name="sub"></label><button>Log in</button></form>'
    response.writeHead(200, { 'content-type': 'text/html' }).end(page)
    return
  }
  const sub = new URLSearchParams(await text(request)).get('sub') ?? ''
  started.logins += 1
  await provider.interactionFinished(request, response, { login: { accountId: sub } })
}
