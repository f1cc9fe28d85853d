import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { Agent, newKey, Registry, type Signer } from '@countersign/sdk'
import { decodeJwt } from 'jose'
import { fileCleanup } from '../../../test/support/file-cleanup.ts'
import {
  agentOf,
  assign,
  type GrantWorld,
  newGrantWorld,
  startAuthorizationServer,
  type TestAuthorizationServer,
} from '../../../test/support/grant-world.ts'
import { PATIENT_CLIENT } from '../../../test/support/patient-client.ts'
import { startTestService, type TestService } from '../../../test/support/service.ts'
import { certifiedAgent, registryOf } from './support/certified.ts'
import { failsWith } from './support/fails.ts'

const cleanup = fileCleanup()
let service: TestService
let server: TestAuthorizationServer
let world: GrantWorld

before(async () => {
  service = await startTestService(cleanup)
  server = await startAuthorizationServer(cleanup)
  world = await newGrantWorld(service)
})

const request = () => ({ audience: server.url, tokenEndpoint: server.tokenEndpoint })

test('an agent gets a grant, though the service is none of its audiences', async () => {
  const agent = agentOf(world)
  const grant = await agent.grant({ ...request(), resource: 'https://api.example/' })
  assert.equal(grant.grantType, 'urn:ietf:params:oauth:grant-type:jwt-bearer')
  assert.equal(grant.issuer, world.issuer.issuer)
  const claims = decodeJwt(grant.assertion)
  assert.equal(claims.iss, grant.issuer)
  assert.equal(claims.sub, world.did)
  assert.deepEqual(claims.aud, [server.url, server.tokenEndpoint])
  assert.equal(claims.resource, 'https://api.example/')
  assert.equal(new Date((claims.exp as number) * 1000).toISOString(), grant.expiresAt)
  await failsWith('WRONG_AUDIENCE', agent.sign(service.url))
})

test('the service is asked again with a new signature if its answer is lost', async () => {
  const nonces: string[] = []
  const losesTheFirst: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    // As a wrapper does that adds a header: it takes a plain object.
    nonces.push({ ...(init?.headers as Record<string, string>) }['signature-input'] ?? '')
    if (nonces.length > 1) return response
    await response.body?.cancel()
    throw new TypeError('the connection broke off')
  }
  const { assertion } = await agentOf(world, { fetch: losesTheFirst }).grant(request())
  assert.equal(decodeJwt(assertion).sub, world.did)
  assert.equal(new Set(nonces).size, 2)
})

test('the request is signed for the public address of the service, also if an internal one is used', async () => {
  const { agent, key, did, ownerId } = await certifiedAgent(service, registryOf(service))
  assert.notEqual(ownerId, world.owner.ownerId)
  const internal = new Registry(service.url.replace('localhost', '127.0.0.1'), PATIENT_CLIENT)
  const named = { registry: internal, signer: key, did }
  await failsWith('INVALID_SIGNATURE', new Agent(named).grant(request()))
  // The signature is accepted, and only then is the missing issuer reported.
  await failsWith('CONFLICT', new Agent({ ...named, issuer: service.url }).grant(request()))
  await failsWith('CONFLICT', agent.grant(request()))
  const withCertificate = { ...named, registry: registryOf(service), certificates: true }
  await failsWith('CONFLICT', new Agent(withCertificate).grant(request()))
  const plain = new Agent({ ...named, issuer: 'http://id.example' })
  await failsWith('INVALID_ARGUMENT', plain.grant(request()))
})

test('refusals are reported by their codes', async () => {
  const agent = agentOf(world)
  const mixedUp = { ...request(), tokenEndpoint: 'https://attacker.example/token' }
  await failsWith('VALIDATION_ERROR', agent.grant(mixedUp))
  await failsWith('VALIDATION_ERROR', agent.grant({ ...request(), audience: '' }))
  await assign(world, null)
  await failsWith('CONFLICT', agent.grant(request()))
  // An agent that does not know its DID asks for it.
  const { key } = await certifiedAgent(service)
  const asking = (signer: Signer) => new Agent({ registry: registryOf(service), signer })
  await failsWith('CONFLICT', asking(key).grant(request()))
  await failsWith('NO_DID', asking(await newKey()).grant(request()))
})
