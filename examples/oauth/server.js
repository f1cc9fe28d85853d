import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import Provider, { errors } from 'oidc-provider'

const { ISSUER = 'http://localhost:4000', GRANT_ISSUERS = '' } = process.env
/** The grant issuers that your customers gave you, such as http://localhost:8080/oauth/issuers/…, separated by spaces. */
const trusted = new Set(GRANT_ISSUERS.split(' ').filter(Boolean))
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** The key sets by issuer, which are never mixed. Keys rotate: they are read again after ten minutes. */
const keySets = new Map()
async function keysOf(issuer) {
  if (keySets.has(issuer)) return keySets.get(issuer)
  const metadata = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json()
  if (metadata.issuer !== issuer) throw new Error('the metadata name another issuer')
  const keys = createRemoteJWKSet(new URL(metadata.jwks_uri), { cacheMaxAge: 600_000 })
  keySets.set(issuer, keys)
  return keys
}

/** The grants that were redeemed, with the time at which each expires. Several processes need a store that they share. */
const redeemed = new Map()
function redeem(id, expiresAt) {
  const now = Date.now() / 1000
  for (const [each, end] of redeemed) if (end < now) redeemed.delete(each)
  if (redeemed.has(id)) throw new Error('it was redeemed before')
  redeemed.set(id, expiresAt)
}

/** The claims of a valid grant (RFC 7523). */
async function verify(grant) {
  const { iss } = decodeJwt(grant)
  if (!trusted.has(iss)) throw new Error(`${iss} is not registered here`)
  const { payload } = await jwtVerify(grant, await keysOf(iss), {
    algorithms: ['ES256'],
    typ: 'authorization-grant+jwt',
    issuer: iss,
    audience: [ISSUER, `${ISSUER}/token`],
    requiredClaims: ['sub', 'iat', 'exp', 'jti'],
    maxTokenAge: '5 minutes',
  })
  redeem(`${iss} ${payload.jti}`, payload.exp)
  return payload
}

/** What was verified about an agent, by account: the issuer and the DID together. */
const agents = new Map()

const provider = new Provider(ISSUER, {
  // Agents need no secret: the grant is what authenticates them.
  clients: [
    {
      client_id: 'agents',
      token_endpoint_auth_method: 'none',
      redirect_uris: [],
      response_types: [],
      grant_types: [GRANT],
    },
  ],
  scopes: ['openid'],
  claims: { openid: ['sub', 'did', 'identity_level', 'grade'] },
  findAccount: (_context, accountId) => ({ accountId, claims: () => agents.get(accountId) }),
  ttl: { AccessToken: 300 },
  features: { devInteractions: { enabled: false } },
})

provider.registerGrantType(
  GRANT,
  async (context) => {
    const { client, params } = context.oidc
    const claims = await verify(params.assertion).catch((error) => {
      throw new errors.InvalidGrant(error.message)
    })
    const accountId = `${claims.iss} ${claims.sub}`
    const { sub: did, identityLevel: identity_level, grade } = claims
    agents.set(accountId, { sub: accountId, did, identity_level, grade })
    const grant = new provider.Grant({ accountId, clientId: client.clientId })
    grant.addOIDCScope('openid')
    const grantId = await grant.save()
    const token = new provider.AccessToken({
      accountId,
      client,
      grantId,
      gty: 'jwt_bearer',
      scope: 'openid',
    })
    const access_token = await token.save()
    context.body = { access_token, token_type: 'Bearer', expires_in: token.expiration }
  },
  ['assertion'],
)

// Clients are told that a grant is invalid, and not why.
provider.on('grant.error', (_context, { error, error_detail: why }) => console.log(error, why))
provider.listen(new URL(ISSUER).port, 'localhost', () =>
  console.log(
    `Authorization server at ${ISSUER}, which trusts ${[...trusted].join(', ') || 'nobody'}`,
  ),
)
