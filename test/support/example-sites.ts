import assert from 'node:assert/strict'
import { Agent, newKey, Registry } from '@countersign/sdk'
import { freePort } from './ports.ts'
import { type Cleanup, startTestService, type TestService } from './service.ts'

export interface ExampleServices {
  /** The service of the sites of the examples. */
  readonly service: TestService
  /** Another service, whose agents are strangers to every site of the examples. */
  readonly elsewhere: TestService
}

export async function startServices(t: Cleanup): Promise<ExampleServices> {
  return { service: await startTestService(t), elsewhere: await startTestService(t) }
}

export async function newToken(at: TestService, owner?: number): Promise<string> {
  return at.operator.issueToken(owner ?? (await at.operator.addVerifiedOwner()))
}

/** An agent in this process. */
export async function newAgent(at: TestService, origin: string, owner?: number): Promise<Agent> {
  const agent = new Agent({
    registry: new Registry(at.url),
    signer: await newKey(),
    audiences: [origin],
  })
  await agent.claim(await newToken(at, owner))
  return agent
}

export async function newOrigin(): Promise<string> {
  return `http://localhost:${await freePort()}`
}

export const POST = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: '{"item":"lamp"}',
}

/**
 * Holds a site to the policy of all examples, also right after its start: an agent is admitted with its first request, and everyone
 * else is refused. Nothing is repeated here; agents sign once more if the site asks for it.
 */
export async function assertAdmitsVerified(
  { service, elsewhere }: ExampleServices,
  origin: string,
  path: string,
  init: RequestInit = {},
) {
  const [agent, stranger] = await Promise.all([
    newAgent(service, origin),
    newAgent(elsewhere, origin),
  ])
  const url = origin + path
  const admitted = await agent.fetch(url, init)
  const text = await admitted.text()
  const named = { ...init, headers: { ...init.headers, ServiceID: agent.did as string } }
  const refused = await Promise.all([
    stranger.fetch(url, init),
    fetch(url, init),
    fetch(url, named),
  ])
  assert.deepEqual(
    refused.map(({ status }) => status),
    [403, 401, 401],
    'an agent that the service does not know, nobody, and a DID without a signature',
  )
  const line = `agent: ${admitted.status} ${text}; stranger: ${refused[0]?.status}`
  return { agent, status: admitted.status, text, line }
}
