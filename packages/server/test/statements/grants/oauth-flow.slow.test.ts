import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { JWT_BEARER_GRANT } from '@countersign/protocol'
import type { Grant } from '@countersign/sdk'
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import Provider from 'oidc-provider'
import * as client from 'openid-client'
import { agentOf, createIssuer, newGrantWorld } from '../../../../../test/support/grant-world.ts'
import { type Cleanup, startTestService } from '../../../../../test/support/service.ts'

const CLIENT = 'agents'

/**
 * Starts an authorization server that trusts issuers by their URL. It is oidc-provider as published: the grant type, which it does
 * not have, is registered through its public interface.
 * @param trusted the issuers that its administrator has registered
 */
async function startProvider(t: Cleanup, trusted: ReadonlySet<string>) {
  const server = createServer()
  server.listen(0, 'localhost')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const issuer = `http://localhost:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT,
        token_endpoint_auth_method: 'none',
        redirect_uris: [],
        grant_types: [JWT_BEARER_GRANT],
        response_types: [],
      },
    ],
    claims: { openid: ['sub'] },
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
  })
  const used = new Set<string>()
  provider.registerGrantType(
    JWT_BEARER_GRANT,
    async (context) => {
      const { params, client: oauthClient } = context.oidc
      const assertion = String(params?.assertion)
      const { iss = '' } = decodeJwt(assertion)
      assert.ok(trusted.has(iss), 'the issuer is registered')
      const response = await fetch(`${iss}/.well-known/openid-configuration`)
      const metadata = (await response.json()) as { issuer: string; jwks_uri: string }
      assert.equal(metadata.issuer, iss)
      const keys = createRemoteJWKSet(new URL(metadata.jwks_uri))
      const expected = { issuer: iss, audience: issuer, requiredClaims: ['jti', 'sub', 'exp'] }
      const { payload } = await jwtVerify(assertion, keys, expected)
      assert.ok(!used.has(`${iss} ${payload.jti}`), 'it is used once')
      used.add(`${iss} ${payload.jti}`)
      const accountId = payload.sub as string
      const grant = new provider.Grant({ accountId, clientId: CLIENT })
      grant.addOIDCScope('openid')
      const token = new provider.AccessToken({
        accountId,
        client: oauthClient as NonNullable<typeof oauthClient>,
        grantId: await grant.save(),
        gty: 'jwt_bearer',
        scope: 'openid',
      } as ConstructorParameters<typeof provider.AccessToken>[0])
      context.body = {
        access_token: await token.save(),
        token_type: 'Bearer',
        expires_in: token.expiration,
        scope: 'openid',
      }
    },
    ['assertion'],
  )
  const callback = provider.callback()
  server.on('request', (request, response) => {
    callback(request, response).catch(() => response.writeHead(500).end())
  })
  provider.on('server_error', () => undefined)
  return { issuer, tokenEndpoint: `${issuer}/token` }
}

const discover = (issuer: string) =>
  client.discovery(new URL(issuer), CLIENT, undefined, client.None(), {
    execute: [client.allowInsecureRequests],
  })

test('an agent gets an access token from oidc-provider that trusts its issuer', async (t) => {
  const service = await startTestService(t)
  const trusted = new Set<string>()
  const server = await startProvider(t, trusted)
  const elsewhere = await startProvider(t, trusted)
  const world = await newGrantWorld(service)
  const config = await discover(server.issuer)
  const endpoint = config.serverMetadata().token_endpoint as string
  assert.equal(endpoint, server.tokenEndpoint)
  const agent = agentOf(world)
  const grant = () => agent.grant({ audience: server.issuer, tokenEndpoint: endpoint })
  const redeem = (at: client.Configuration, { assertion, grantType }: Grant) =>
    client.genericGrantRequest(at, grantType, { assertion })

  const early = await grant()
  await assert.rejects(redeem(config, early), 'the issuer is not registered yet')
  trusted.add(world.issuer.issuer)
  const used = await grant()
  const tokens = await redeem(config, used)
  const user = await client.fetchUserInfo(config, tokens.access_token, world.did)
  assert.equal(user.sub, world.did)
  assert.equal(tokens.refresh_token, undefined)

  await assert.rejects(redeem(config, used), 'it was used')
  const other = await grant()
  await assert.rejects(
    redeem(await discover(elsewhere.issuer), other),
    'it is for another authorization server',
  )
  const hidden = await createIssuer(world.owner)
  assert.ok(!trusted.has(hidden.issuer))
})
