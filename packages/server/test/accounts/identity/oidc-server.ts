import { createHash, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { CompactSign, type JWTPayload } from 'jose'
import {
  type Answer,
  type Received,
  startLoopbackServer,
} from '../../http/outbound/support/loopback-server.ts'

export const CLIENT_ID = 'countersign'
export const CLIENT_SECRET = 'a-client-secret-of-the-test'
export const ACR = 'urn:test:substantial'

/** The parts of the provider's behavior that a test can replace. */
export interface Misbehaviour {
  readonly discovery?: (metadata: Record<string, unknown>) => Record<string, unknown>
  readonly claims?: (claims: JWTPayload) => JWTPayload
  /** Creates the ID token from the claims. */
  readonly sign?: (claims: JWTPayload, keys: ServerKeys) => Promise<string>
  readonly token?: (response: Record<string, unknown>) => Answer
  readonly keys?: () => Answer
  /** Changes the callback's query. */
  readonly back?: (query: URLSearchParams) => void
  readonly par?: () => Answer
  readonly userInfo?: () => Promise<Answer>
  /** Accepts any client authentication, which the test then inspects. */
  readonly anyClient?: boolean
}

export interface ServerKeys {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

export function newKeys(): ServerKeys {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { privateKey, publicKey: createPublicKey(privateKey) }
}

/** Signs the claims as a JWS. */
export function signed(
  claims: JWTPayload,
  key: KeyObject | Uint8Array,
  header: Record<string, unknown> = {},
): Promise<string> {
  return new CompactSign(Buffer.from(JSON.stringify(claims)))
    .setProtectedHeader({ alg: 'ES256', kid: 'key-1', ...header })
    .sign(key)
}

/** An OpenID Connect provider that behaves correctly except for the given replacements. */
export async function startOidcServer(
  t: { after(end: () => unknown): void },
  wrong: Misbehaviour = {},
) {
  const keys = newKeys()
  const begun = new Map<string, URLSearchParams>()
  const pushed = new Map<string, URLSearchParams>()
  const server = await startLoopbackServer(t, async (request): Promise<Answer> => {
    switch (`${request.method} ${request.path}`) {
      case 'GET /.well-known/openid-configuration':
        return { status: 200, body: changed(metadata(server.url), wrong.discovery) }
      case 'GET /jwks':
        return wrong.keys?.() ?? { status: 200, body: { keys: [jwk()] } }
      case 'POST /par':
        return wrong.par?.() ?? push(request)
      case 'GET /userinfo':
        return wrong.userInfo?.() ?? { status: 404, body: {} }
      case 'POST /token':
        return token(request)
    }
    return { status: 404, body: {} }
  })
  function jwk() {
    return { ...keys.publicKey.export({ format: 'jwk' }), kid: 'key-1', use: 'sig', alg: 'ES256' }
  }

  function push({ body, headers }: Received): Answer {
    if (!wrong.anyClient && !isClient(headers.authorization))
      return { status: 401, body: { error: 'invalid_client' } }
    const uri = `urn:ietf:params:oauth:request_uri:${pushed.size}`
    pushed.set(uri, new URLSearchParams(body))
    return { status: 201, body: { request_uri: uri, expires_in: 60 } }
  }

  async function token({ body, headers }: Received): Promise<Answer> {
    if (!wrong.anyClient && !isClient(headers.authorization))
      return { status: 401, body: { error: 'invalid_client' } }
    const form = new URLSearchParams(body)
    const request = begun.get(form.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (request?.get('code_challenge') !== challenge) {
      return { status: 400, body: { error: 'invalid_grant' } }
    }
    const now = Math.floor(Date.now() / 1000)
    const claims = changed(
      {
        iss: server.url,
        sub: 'subject-of-the-test',
        aud: CLIENT_ID,
        exp: now + 60,
        iat: now,
        auth_time: now,
        acr: ACR,
        nonce: request.get('nonce') as string,
      },
      wrong.claims,
    )
    const idToken = await (wrong.sign?.(claims, keys) ?? signed(claims, keys.privateKey))
    const response = { access_token: 'an-access-token', token_type: 'Bearer', id_token: idToken }
    return wrong.token?.(response) ?? { status: 200, body: response }
  }

  return {
    ...server,
    /** The authorization requests received. */
    begun,
    /** Visits the authorization URL as a browser whose user consents. @returns the callback URL */
    authorize(redirect: string): URL {
      const { searchParams } = new URL(redirect)
      const uri = searchParams.get('request_uri')
      const request = uri === null ? searchParams : (pushed.get(uri) as URLSearchParams)
      const code = `code-${begun.size}`
      begun.set(code, request)
      const back = new URL(request.get('redirect_uri') as string)
      back.searchParams.set('code', code)
      back.searchParams.set('state', request.get('state') as string)
      back.searchParams.set('iss', server.url)
      wrong.back?.(back.searchParams)
      return back
    },
  }
}

function changed<T>(right: T, change: ((right: T) => T) | undefined): T {
  return change === undefined ? right : change(right)
}

function metadata(issuer: string): Record<string, unknown> {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    pushed_authorization_request_endpoint: `${issuer}/par`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
    token_endpoint_auth_methods_supported: ['client_secret_basic'],
    authorization_response_iss_parameter_supported: true,
  }
}

/** client_secret_basic (RFC 6749, section 2.3.1): both parts are encoded as in a form before they are joined. */
function isClient(authorization = ''): boolean {
  const [scheme, encoded = ''] = authorization.split(' ')
  const parts = Buffer.from(encoded, 'base64').toString().split(':').map(decodeURIComponent)
  return scheme === 'Basic' && parts.join(':') === `${CLIENT_ID}:${CLIENT_SECRET}`
}

/** The settings for this provider in the operator's file. */
export function providerAt(issuer: string, id = 'test') {
  return {
    id,
    type: 'oidc',
    issuer,
    clientId: CLIENT_ID,
    clientSecret: { env: 'CLIENT_SECRET' },
    label: 'The provider',
    kind: 'eid',
    proves: 'Something.',
    assurance: 'substantial',
    acr: [ACR],
    maxAge: 300,
  }
}
