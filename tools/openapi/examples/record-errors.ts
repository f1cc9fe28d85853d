import { rotationBody } from '../../../test/support/key-operations.ts'
import { claimBody } from '../../../test/support/service.ts'
import { fixedKey, passTime } from './example-service.ts'
import { signInAgain } from './record-accounts.ts'
import type { Agents } from './record-agents.ts'
import { agentPath, EXAMPLE_SERVICE, ownAgentPath, type World } from './world.ts'

/** A refusal for each code that a client can cause. */
export async function recordErrors(world: World, agents: Agents): Promise<void> {
  await recordMalformed(world, agents)
  await recordForbidden(world, agents)
  await recordConflicts(world, agents)
}

/** What HTTP itself, or the form of a request, forbids. */
async function recordMalformed({ anyone }: World, { travel }: Agents): Promise<void> {
  const verify = '/api/v1/agent/verify'
  const lookup = agentPath(travel)
  const body = { publicKey: travel.key.publicKey, challenge: 'hello' }
  await anyone.refuse('POST', verify, { body, status: 400 })
  const signature = travel.key.sign('goodbye')
  await anyone.refuse('POST', verify, { body: { ...body, signature }, status: 401 })
  await anyone.refuse('GET', agentPath({ ...travel, did: `svc:agent:${'1'.repeat(24)}` }), {
    status: 404,
  })
  await anyone.refuse('PUT', lookup, { body: {}, status: 405 })
  await anyone.refuse('GET', lookup, { headers: { 'if-match': '"another"' }, status: 412 })
  await anyone.refuse('POST', verify, {
    body: { ...body, challenge: 'a'.repeat(100_000) },
    status: 413,
  })
  await anyone.refuse('POST', verify, {
    body: {},
    headers: { 'content-type': 'text/plain' },
    status: 415,
  })
  const { head } = await anyone.send<{ head: string }>('GET', '/api/v1/snapshot')
  const [header = '', ...rest] = head.split('.')
  const known = JSON.parse(Buffer.from(header, 'base64url').toString())
  // As after a rotation of the key that signed it.
  const retired = JSON.stringify({ ...known, kid: 'A'.repeat(43) })
  const cursor = [Buffer.from(retired).toString('base64url'), ...rest].join('.')
  await anyone.refuse('GET', `/api/v1/feed?after=${cursor}`, { status: 410 })
}

/** Who may do what. */
async function recordForbidden({ ada, anyone }: World, { travel }: Agents): Promise<void> {
  await anyone.refuse('GET', '/api/account', { status: 401 })
  const key = await ada.send<{ secret: string }>('POST', '/api/account/api-keys', {
    body: { name: 'Reader', scopes: ['agents:read'], expiresInDays: 90 },
    status: 201,
  })
  await anyone.refuse('POST', '/api/agents/token', {
    body: {},
    headers: { authorization: `Bearer ${key.secret}` },
    status: 403,
  })
  passTime(11 * 60_000)
  await ada.refuse('POST', `${ownAgentPath(travel)}/recovery`, {
    body: { reason: 'key_lost' },
    status: 403,
  })
}

/** What the state of an agent, of its keys or of a token forbids. */
async function recordConflicts(world: World, { travel, first }: Agents): Promise<void> {
  const { anyone } = world
  const usedClaim = anyone.examples.operations.claim?.[0]?.request.body
  const next = fixedKey('another')
  const keys = { old: travel.key, next, sequence: 7 }
  const signed = { issuedAt: passTime(0) }
  await anyone.refuse('POST', `${agentPath(travel)}/keys`, {
    body: rotationBody(EXAMPLE_SERVICE, travel.did, keys, signed),
    status: 409,
  })
  await anyone.refuse('GET', `${agentPath(first)}/certificate`, { status: 409 })
  await signInAgain(world)
  const { claimToken } = await world.ada.send<{ claimToken: string }>('POST', '/api/agents/token', {
    body: {},
    status: 201,
  })
  const again = claimBody(claimToken, travel.key, 'travel-assistant')
  await anyone.refuse('POST', '/api/v1/claim', { body: again, status: 409 })
  const { claimToken: used } = usedClaim as { claimToken: string }
  const late = claimBody(used, fixedKey('late'), 'late')
  await anyone.refuse('POST', '/api/v1/claim', { body: late, status: 410 })
}
