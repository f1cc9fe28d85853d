import { METADATA } from '../../../test/support/grant-world.ts'
import { signedHeaders } from '../../../test/support/sign-request.ts'
import { EXAMPLE_URL, HOSTS } from './example-service.ts'
import type { Agents } from './record-agents.ts'
import { agentPath, EXAMPLE_SERVICE, ownAgentPath, type World } from './world.ts'

/** What an endpoint of Ada's receives. */
export interface Delivered {
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/** Ada's webhook endpoint. @returns the first delivery of an event, then all of tests */
export async function recordWebhooks({ ada, service }: World, change: () => Promise<unknown>) {
  const received: Delivered[] = []
  service.site.serve('/countersign', (request, response) => {
    let text = ''
    request.on('data', (chunk) => (text += chunk))
    request.on('end', () => {
      const headers = Object.entries(request.headers).filter(([name]) => /^webhook-/.test(name))
      received.push({ headers: Object.fromEntries(headers) as never, body: JSON.parse(text) })
      response.writeHead(204).end()
    })
  })
  const path = '/api/account/webhooks'
  const { id } = await ada.record('createWebhook', 'POST', path, {
    body: { url: `https://${HOSTS.owner}/countersign`, eventTypes: null },
    status: 201,
  })
  const own = `${path}/${id}`
  const delivered = async () => {
    const { db } = service.operator
    const states = await db.read.selectFrom('webhook_deliveries').select('state').execute()
    return states.every(({ state }) => state === 'delivered')
  }
  await change()
  await service.untilTicked(async () => (await delivered()) && received.length >= 4)
  const test = await ada.record('testWebhook', 'POST', `${own}/test`)
  await service.untilTicked(delivered)
  await ada.record('listWebhookDeliveries', 'GET', `${own}/deliveries`)
  const again = (test.delivery as { id: string } | undefined)?.id ?? test.id
  await ada.record('redeliverWebhook', 'POST', `${own}/deliveries/${again}/redeliver`)
  await ada.record('changeWebhook', 'PATCH', own, {
    body: { eventTypes: ['agent.suspended', 'agent.revoked'] },
  })
  await ada.record('rotateWebhookSecret', 'POST', `${own}/rotate-secret`, {
    body: { overlapHours: 24 },
  })
  await ada.record('listWebhooks', 'GET', path)
  await ada.record('deleteWebhook', 'DELETE', own, { status: 204 })
  return received
}

/** The travel assistant gets a grant for an authorization server. */
export async function recordGrants({ ada, anyone, service }: World, { travel }: Agents) {
  const path = '/api/account/grant-issuers'
  const { id } = await ada.record('createGrantIssuer', 'POST', path, {
    body: { name: 'Bookings' },
    status: 201,
  })
  await ada.record('assignGrantIssuer', 'PUT', `${ownAgentPath(travel)}/grant-issuer`, {
    body: { issuer: id },
  })
  await recordGrant({ ada, anyone, service } as World, travel)
  await ada.record('agentGrants', 'GET', `${ownAgentPath(travel)}/grants`)
  await ada.record('listGrantIssuers', 'GET', path)
  const issuer = `/oauth/issuers/${id}`
  await anyone.record(
    'grantIssuerConfiguration',
    'GET',
    `${issuer}/.well-known/openid-configuration`,
  )
  const metadata = `/.well-known/oauth-authorization-server${issuer}`
  await anyone.record('grantIssuerMetadata', 'GET', metadata)
  await anyone.record('grantIssuerKeySet', 'GET', `${issuer}/jwks.json`)
  await ada.send('PUT', `${ownAgentPath(travel)}/grant-issuer`, { body: { issuer: null } })
  await ada.record('deleteGrantIssuer', 'DELETE', `${path}/${id}`, { status: 204 })
}

async function recordGrant({ anyone, service }: World, travel: Agents['travel']): Promise<void> {
  const audience = `https://${HOSTS.as}`
  const tokenEndpoint = `${audience}/token`
  service.site.serve(METADATA, {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ issuer: audience, token_endpoint: tokenEndpoint }),
  })
  const body = { audience, tokenEndpoint }
  const target = `${agentPath(travel)}/grant`
  const signed = await signedHeaders(EXAMPLE_SERVICE, travel.did, travel.key, {
    method: 'POST',
    url: EXAMPLE_URL + target,
    headers: [['Content-Type', 'application/json']],
    body: JSON.stringify(body),
  })
  const headers = Object.fromEntries(signed.filter(([name]) => !/^(Host|Content-Type)$/.test(name)))
  await anyone.record('issueGrant', 'POST', target, { body, headers })
}
