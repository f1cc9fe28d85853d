import { Agent, Registry } from '@countersign/sdk'
import { keyFromFile } from '@countersign/sdk/node'

const { SERVICE = 'http://localhost:8080', ISSUER = 'http://localhost:4000' } = process.env

const agent = new Agent({
  registry: await Registry.discover(SERVICE),
  signer: await keyFromFile('agent.pem', { create: true }),
  audiences: [],
})
if (process.env.CLAIM_TOKEN) await agent.claim(process.env.CLAIM_TOKEN) // the same at each start

// The service gives a grant only if the metadata of the authorization server name this issuer and this token endpoint.
const metadata = await (await fetch(`${ISSUER}/.well-known/openid-configuration`)).json()
const { assertion, grantType } = await agent.grant({
  audience: metadata.issuer,
  tokenEndpoint: metadata.token_endpoint,
})

const body = new URLSearchParams({ grant_type: grantType, assertion, client_id: 'agents' })
const answer = await (await fetch(metadata.token_endpoint, { method: 'POST', body })).json()
if (answer.error) throw new Error(`${answer.error}: ${answer.error_description}`)

// An API of the same server. It sees who calls, not the key and not the grant.
const headers = { authorization: `Bearer ${answer.access_token}` }
console.log(await (await fetch(metadata.userinfo_endpoint, { headers })).json())
