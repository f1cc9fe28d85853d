import assert from 'node:assert/strict'
import { sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { AgentGrants, Grant, GrantIssuer, HeaderList } from '@countersign/protocol'
import { Agent, Registry, type RegistryOptions } from '@countersign/sdk'
import { type Answer, jsonOf } from './answer.ts'
import { ask } from './ask.ts'
import { newKey, type TestKey } from './key.ts'
import { PATIENT_CLIENT } from './patient-client.ts'
import { type Cleanup, claimAgent, type TestService } from './service.ts'
import { signedHeaders } from './sign-request.ts'
import { type SignedInOwner, signIn } from './signed-in.ts'

/** What a server answers at a path: a status, a JSON body, header fields. */
export interface Response {
  readonly status?: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** An authorization server that only has metadata, by plain HTTP on loopback. */
export interface TestAuthorizationServer {
  /** Its issuer identifier. */
  readonly url: string
  readonly tokenEndpoint: string
  /** What it serves, by path. */
  readonly pages: Map<string, Response>
  /** The paths that were requested, in order. */
  readonly requested: string[]
  beforeAnswer: () => Promise<unknown>
}

export async function startAuthorizationServer(t: Cleanup): Promise<TestAuthorizationServer> {
  const pages = new Map<string, Response>()
  const requested: string[] = []
  const server = createServer(async (request, response) => {
    requested.push(request.url ?? '')
    await started.beforeAnswer()
    const { status = 200, body, headers = {} } = pages.get(request.url ?? '') ?? { status: 404 }
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(body ?? {}))
  })
  server.listen(0, 'localhost')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const url = `http://localhost:${(server.address() as AddressInfo).port}`
  const tokenEndpoint = `${url}/token`
  pages.set(METADATA, { body: { issuer: url, token_endpoint: tokenEndpoint } })
  const started: TestAuthorizationServer = {
    url,
    tokenEndpoint,
    pages,
    requested,
    beforeAnswer: async () => undefined,
  }
  return started
}

/** Where RFC 8414 has the metadata of a server without a path. */
export const METADATA = '/.well-known/oauth-authorization-server'

/** An agent, and the issuer that signs its grants. */
export interface GrantWorld {
  readonly service: TestService
  readonly owner: SignedInOwner
  readonly did: string
  readonly key: TestKey
  readonly issuer: GrantIssuer
}

export async function newGrantWorld(service: TestService): Promise<GrantWorld> {
  const owner = await signIn(service, await service.operator.addVerifiedOwner())
  const key = newKey()
  const did = await claimAgent(service, owner.ownerId, key)
  const issuer = await createIssuer(owner)
  await assign({ owner, did }, issuer.id)
  return { service, owner, did, key, issuer }
}

/** The agent with the SDK. It has no audiences. */
export function agentOf({ service, did, key }: GrantWorld, options: RegistryOptions = {}): Agent {
  const signer = {
    publicKey: new Uint8Array(Buffer.from(key.publicKey, 'base64')),
    sign: async (message: Uint8Array) => new Uint8Array(sign(null, message, key.privateKey)),
  }
  const registry = new Registry(service.url, { ...PATIENT_CLIENT, ...options })
  return new Agent({ registry, signer, did })
}

export async function createIssuer(owner: SignedInOwner, name = 'Shop'): Promise<GrantIssuer> {
  const created = await owner.post('/api/account/grant-issuers', { name })
  assert.equal(created.status, 201, created.text)
  return jsonOf<GrantIssuer>(created)
}

export async function assign(
  { owner, did }: Pick<GrantWorld, 'owner' | 'did'>,
  issuer: string | null,
): Promise<AgentGrants> {
  const url = `/api/account/agents/${did}/grant-issuer`
  const assigned = await owner.send('PUT', url, { issuer })
  assert.equal(assigned.status, 200, assigned.text)
  return jsonOf<AgentGrants>(assigned)
}

/** How a test deviates from an honest request. */
export interface Deviation {
  /** The DID in the URL. */
  readonly path?: string
  readonly key?: TestKey
  /** Header fields to send instead of those of a signature. */
  readonly headers?: HeaderList
  /** What is signed instead of the body. */
  readonly signedBody?: string
  /** The origin that is signed instead of the service's. */
  readonly origin?: string
}

/** Requests a grant. */
export async function requestGrant(
  { service, did, key }: Pick<GrantWorld, 'service' | 'did' | 'key'>,
  request: object,
  deviation: Deviation = {},
): Promise<Answer> {
  const body = JSON.stringify(request)
  const target = `/api/v1/agent/${deviation.path ?? did}/grant`
  const headers =
    deviation.headers ??
    (await signedHeaders(service, did, deviation.key ?? key, {
      method: 'POST',
      url: (deviation.origin ?? service.url) + target,
      headers: [['Content-Type', 'application/json']],
      body: deviation.signedBody ?? body,
    }))
  const sent = Object.fromEntries(headers.filter(([name]) => name !== 'Host'))
  return ask(service, target, { method: 'POST', headers: sent, body })
}

/** Requests a grant that the service issues. */
export async function grantFor(
  world: Pick<GrantWorld, 'service' | 'did' | 'key'>,
  { url, tokenEndpoint }: Pick<TestAuthorizationServer, 'url' | 'tokenEndpoint'>,
): Promise<Grant> {
  const answer = await requestGrant(world, { audience: url, tokenEndpoint })
  assert.equal(answer.status, 200, answer.text)
  return jsonOf<Grant>(answer)
}

/** The body of a request for a grant for this server. */
export const requestFor = ({ url, tokenEndpoint }: TestAuthorizationServer) => ({
  audience: url,
  tokenEndpoint,
})
