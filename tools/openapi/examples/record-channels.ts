import type { OwnerChannel } from '@countersign/protocol'
import sharp from 'sharp'
import {
  CARD,
  cardWith,
  signed,
} from '../../../packages/server/test/channels/support/agent-cards.ts'
import { proofField } from '../../../packages/server/test/channels/support/channel-fixture.ts'
import { EXAMPLE_URL, HOSTS } from './example-service.ts'
import type { Agents } from './record-agents.ts'
import { type ExampleAgent, ownAgentPath, type World } from './world.ts'

/** Where the travel assistant can be reached: at a domain, by A2A, and in its runtime; and how it looks. */
export async function recordChannels(world: World, { travel }: Agents): Promise<void> {
  const { ada } = world
  await ada.record('listChannelKinds', 'GET', '/api/account/channel-kinds')
  await recordDomain(world, travel)
  await recordAgentCard(world, travel)
  await recordRuntime(world, travel)
  await ada.record('listChannels', 'GET', `${ownAgentPath(travel)}/channels`)
  await recordPicture(world, travel)
}

async function recordDomain({ ada, service }: World, agent: ExampleAgent): Promise<void> {
  const path = `${ownAgentPath(agent)}/channels`
  const body = { kind: 'domain', handleOrDomain: HOSTS.owner }
  const channel = await ada.record<OwnerChannel>('addChannel', 'POST', path, { body, status: 201 })
  const line = proofField(channel, 'dns')('Value')
  service.dns.set(`_svc-challenge.${HOSTS.owner}`, 'TXT', [line])
  await ada.record('checkChannel', 'POST', `${path}/${channel.id}/check`, { body: {} })
}

async function recordAgentCard({ ada, service }: World, agent: ExampleAgent): Promise<void> {
  const path = `${ownAgentPath(agent)}/channels`
  const channel = await ada.send<OwnerChannel>('POST', path, {
    body: { kind: 'a2a', handleOrDomain: HOSTS.owner },
    status: 201,
  })
  const card = cardWith(JSON.parse(proofField(channel, 'card')('Extension')))
  const kid = `did:web:${new URL(EXAMPLE_URL).host}:agent:${agent.did}#key-1`
  const body = JSON.stringify(await signed(card, agent as never, { kid }))
  service.site.serve(CARD, { headers: { 'content-type': 'application/json' }, body })
  await ada.send('POST', `${path}/${channel.id}/check`, { body: {} })
  await ada.record('signAgentCard', 'POST', `${path}/${channel.id}/countersign`, { body: {} })
}

async function recordRuntime({ ada, anyone }: World, agent: ExampleAgent): Promise<void> {
  const path = `${ownAgentPath(agent)}/channels`
  const { id } = await ada.send<OwnerChannel>('POST', path, {
    body: { kind: 'runtime', handleOrDomain: 'home-server' },
    status: 201,
  })
  const runtime = `/api/agents/${agent.did}/runtime`
  const asked = await anyone.record('challengeRuntime', 'POST', `${runtime}/challenge`, {
    body: {},
  })
  const challenge = asked.challenge as string
  await anyone.record('answerRuntime', 'POST', runtime, {
    body: { challenge, signature: agent.key.sign(challenge) },
  })
  await ada.record('renewChannel', 'POST', `${path}/${id}/renew`, { body: {} })
  await ada.record('removeChannel', 'DELETE', `${path}/${id}`, { status: 204 })
}

async function recordPicture({ ada, anyone }: World, agent: ExampleAgent): Promise<void> {
  const create = { width: 64, height: 64, channels: 3 as const, background: '#0b5d4b' }
  const png = await sharp({ create }).png().toBuffer()
  await ada.record('setAvatar', 'PUT', `${ownAgentPath(agent)}/avatar`, {
    body: new Uint8Array(png),
    headers: { 'content-type': 'image/png' },
  })
  const card = await anyone.send<{ avatarUrl: string }>('GET', `/api/agents/${agent.did}/card`)
  const { pathname, search } = new URL(card.avatarUrl)
  await anyone.record('givenAvatar', 'GET', pathname + search)
  await ada.record('removeAvatar', 'DELETE', `${ownAgentPath(agent)}/avatar`)
}
