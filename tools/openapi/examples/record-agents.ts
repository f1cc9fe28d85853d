import { sign } from 'node:crypto'
import { signDirectory } from '@countersign/protocol'
import { claimBody } from '../../../test/support/service.ts'
import { signedHeaders } from '../../../test/support/sign-request.ts'
import { EXAMPLE_URL, fixedKey, passTime } from './example-service.ts'
import {
  agentPath,
  bytesOf,
  EXAMPLE_SERVICE,
  type ExampleAgent,
  ownAgentPath,
  type World,
} from './world.ts'

/** Ada's three agents: one that is used, one that is suspended, one that is revoked. */
export interface Agents {
  readonly travel: ExampleAgent
  readonly minutes: ExampleAgent
  readonly first: ExampleAgent
}

/** A relying party. */
const SHOP = 'https://shop.example'

const DID_JSON = 'application/did+json'

interface Token {
  readonly claimToken: string
}

export async function recordClaims({ ada, anyone }: World): Promise<Agents> {
  const claim = '/api/v1/claim'
  const { claimToken } = await ada.record<Token & Record<string, unknown>>(
    'issueToken',
    'POST',
    '/api/agents/token',
    { body: {}, status: 201 },
  )
  const key = fixedKey('travel-assistant')
  const claimed = await anyone.record('claim', 'POST', claim, {
    body: claimBody(claimToken, key, 'travel-assistant'),
  })
  const batch = await ada.record<{ claimTokens: Token[] | string[] }>(
    'issueTokens',
    'POST',
    '/api/agents/tokens',
    { body: { count: 2 }, status: 201 },
  )
  const others: ExampleAgent[] = []
  for (const [index, name] of ['minutes', 'first-attempt'].entries()) {
    const token = batch.claimTokens[index] as string
    const each = fixedKey(name)
    const done = await anyone.send('POST', claim, { body: claimBody(token, each, name) })
    others.push({ did: done.svcDid as string, key: each })
  }
  const [minutes, first] = others as [ExampleAgent, ExampleAgent]
  return { travel: { did: claimed.svcDid as string, key }, minutes, first }
}

export async function recordProfiles({ ada }: World, agents: Agents): Promise<void> {
  const { travel, minutes, first } = agents
  await ada.record('editAgent', 'PATCH', ownAgentPath(travel), {
    body: {
      displayName: 'Travel assistant',
      username: 'travel-assistant',
      description: 'Books trains for Ada.',
    },
  })
  await ada.send('PATCH', ownAgentPath(minutes), {
    body: { displayName: 'Minutes', username: 'minutes' },
  })
  await ada.send('PATCH', ownAgentPath(first), { body: { displayName: 'First attempt' } })
}

/** One agent is suspended, another revoked. */
export async function recordStatuses({ ada, anyone }: World, agents: Agents): Promise<void> {
  const { travel, minutes, first } = agents
  for (const each of [minutes, first]) await anyone.send('GET', `${agentPath(each)}/certificate`)
  await ada.record('suspendAgent', 'POST', `${ownAgentPath(minutes)}/suspend`, {
    body: { reason: 'under_review' },
  })
  await ada.record('revokeAgent', 'POST', `${ownAgentPath(first)}/revoke`, {
    body: { reason: 'retired' },
  })
  await ada.record('ownerAgents', 'GET', '/api/account/agents')
  await ada.record('ownerAgent', 'GET', ownAgentPath(travel))
  await ada.record('agentHistory', 'GET', `${ownAgentPath(travel)}/history`)
}

/** What anyone can read of an agent. */
export async function recordReads({ anyone }: World, { travel, first }: Agents): Promise<void> {
  const { did } = travel
  const tail = did.slice(-24)
  const v1 = agentPath(travel)
  const reads: readonly (readonly [string, string])[] = [
    ['lookup', v1],
    ['agentKeys', `${v1}/keys`],
    ['card', `/api/agents/${did}/card`],
    ['grade', `/api/agents/${did}/grade`],
    ['compactCard', `${v1}/card`],
    ['agent', `/api/agents/${did}`],
    ['avatar', `/api/agents/${did}/avatar.svg`],
    ['didJson', `/agent/svc/agent/${tail}/did.json`],
    ['agentKeySet', `/agent/${tail}/jwks.json`],
    ['agentClient', `/agent/${tail}/client.json`],
    ['agentCardKeySet', `/agent/${tail}/a2a-jwks.json`],
    ['agentStaple', `${v1}/staple`],
    ['certificateType', '/credentials/agent-certificate'],
    ['issuerKeySet', '/.well-known/jwks.json'],
    ['issuerMetadata', '/.well-known/jwt-vc-issuer'],
    ['ssfConfiguration', '/.well-known/ssf-configuration'],
    ['serviceKeySet', '/.well-known/http-message-signatures-directory'],
    ['statusSnapshot', '/api/v1/snapshot'],
    ['statusFeedLatest', '/api/v1/feed/latest'],
    ['log', '/log'],
    ['logCheckpoint', '/log/checkpoint'],
    ['logProof', `/log/proof/${did}`],
    ['agentLog', `/log/agent/${did}`],
    ['certificate', `/agent/${did}`],
    ['badge', `/agent/${did}/badge.svg`],
    ['preview', `/agent/${did}/preview.png`],
    ['qrCode', `/agent/${did}/qr.svg`],
    ['healthz', '/healthz'],
    ['readyz', '/readyz'],
  ]
  const jwt = await anyone.record<string>('agentCertificate', 'GET', `${v1}/certificate`)
  const { status } = JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString())
  await anyone.record('statusList', 'GET', new URL(status.status_list.uri).pathname)
  for (const [operationId, target] of reads) await anyone.record(operationId, 'GET', target)
  const { keys } = await anyone.send<{ keys: { kid: string }[] }>('GET', `/agent/${tail}/jwks.json`)
  await anyone.record('keyHolders', 'GET', `/api/v1/keys/${keys[0]?.kid}`)
  await anyone.record('epochCheckpoint', 'GET', '/log/1/checkpoint')
  await anyone.record('statusFeed', 'GET', '/api/v1/feed?after=0')
  await anyone.record('agent', 'GET', `/api/agents/${did}`, { headers: { accept: DID_JSON } })
  const revoked = first.did
  await anyone.record('agent', 'GET', `/api/agents/${revoked}`, {
    headers: { accept: DID_JSON },
    status: 410,
  })
  await anyone.record('didJson', 'GET', `/agent/svc/agent/${revoked.slice(-24)}/did.json`, {
    status: 410,
  })
  await anyone.record('agentCertificate', 'GET', `${v1}/certificate`, {
    headers: { accept: 'application/dc+sd-jwt' },
  })
  for (const [operationId, target] of [
    ['card', `/api/agents/${did}/card`],
    ['compactCard', `${v1}/card`],
  ] as const)
    await anyone.record(operationId, 'GET', target, { headers: { accept: 'text/plain' } })
  const byKey = `/api/v1/agent/${encodeURIComponent(travel.key.publicKey)}`
  await anyone.record('lookup', 'GET', byKey)
  await anyone.record('identify', 'GET', '/api/v1/identify', { headers: { ServiceID: did } })
}

/** What agents and relying parties send about possession of keys. */
export async function recordProofs({ anyone }: World, { travel }: Agents): Promise<void> {
  const audience = SHOP
  const challenge = `svc-challenge-v1:${audience}:4kXw9TbQe7RzMn3VhYcJ2p`
  await anyone.record('verify', 'POST', '/api/v1/agent/verify', {
    body: {
      publicKey: travel.key.publicKey,
      challenge,
      signature: travel.key.sign(challenge),
      svcDid: travel.did,
      audience,
    },
  })
  const headers = await signedHeaders(EXAMPLE_SERVICE, travel.did, travel.key, {
    url: `${SHOP}/orders`,
  })
  await anyone.record('verifyRequest', 'POST', '/api/v1/verify-request', {
    body: { method: 'GET', url: `${SHOP}/orders`, headers, audience: SHOP },
  })
  const created = passTime(0)
  const proof = await signDirectory(
    {
      authority: new URL(EXAMPLE_URL).host,
      publicKey: bytesOf(travel.key),
      created,
      expires: created + 30 * 86_400,
    },
    (message) => new Uint8Array(sign(null, message, travel.key.privateKey)),
  )
  await anyone.record('proveDirectory', 'PUT', `${agentPath(travel)}/directory-proof`, {
    body: proof,
  })
}
