import type { Mandate, OwnerApproval, RequestedApproval } from '@countersign/protocol'
import { APPROVALS, challengeOf } from '../../../test/support/approvals.ts'
import { MANDATES, mandateChallengeOf } from '../../../test/support/mandates.ts'
import { signedHeaders } from '../../../test/support/sign-request.ts'
import { EXAMPLE_URL } from './example-service.ts'
import type { Agents } from './record-agents.ts'
import { agentPath, EXAMPLE_SERVICE, ownAgentPath, type World } from './world.ts'

const ORDER = {
  request: {
    method: 'POST',
    url: 'https://shop.example/orders/4711/confirm',
    contentType: 'application/json',
    body: '{"total":"129.00","currency":"EUR","to":"Example GmbH"}',
  },
  message: 'Printer paper, as every month',
}
const RETURN = { request: { method: 'DELETE', url: 'https://shop.example/orders/4711' } }

/** The travel agent asks twice: Ada approves the first request with her passkey, and denies the second. */
export async function recordApprovals(
  world: World,
  { travel }: Pick<Agents, 'travel'>,
): Promise<void> {
  const { ada, anyone, authenticator } = world
  const setting = `${ownAgentPath(travel)}/approvals`
  await ada.record('allowApprovals', 'PUT', setting, { body: { enabled: true } })
  const target = `${agentPath(travel)}/approvals`
  const question = async (body: object) => {
    const signed = await signedHeaders(EXAMPLE_SERVICE, travel.did, travel.key, {
      method: 'POST',
      url: EXAMPLE_URL + target,
      headers: [['Content-Type', 'application/json']],
      body: JSON.stringify(body),
    })
    const sent = signed.filter(([name]) => !/^(Host|Content-Type)$/.test(name))
    return { body, headers: Object.fromEntries(sent), status: 201 }
  }
  const first = await anyone.record<RequestedApproval>(
    'requestApproval',
    'POST',
    target,
    await question(ORDER),
  )
  // While it is pending, the same question is not asked twice.
  await anyone.record('requestApproval', 'POST', target, {
    ...(await question(ORDER)),
    status: 200,
  })
  await ada.record('listApprovals', 'GET', APPROVALS)
  const at = `${APPROVALS}/${first.id}`
  const shown = await ada.record<OwnerApproval>('ownApproval', 'GET', at)
  await ada.record('approvalOptions', 'POST', `${at}/options`, { body: {} })
  const { hostname: rpId } = new URL(EXAMPLE_URL)
  const [laptop] = authenticator.passkeys
  const response = authenticator.get({ challenge: challengeOf(shown), rpId }, {}, laptop)
  await ada.record('approveRequest', 'POST', `${at}/approve`, { body: { response } })
  await anyone.record('approval', 'GET', `/api/v1/approvals/${first.id}`)
  await recordMandate(world, shown)
  const second = await anyone.send<RequestedApproval>('POST', target, await question(RETURN))
  await ada.record('denyRequest', 'POST', `${APPROVALS}/${second.id}/deny`, {
    body: { turnOff: false },
  })
}

/** Ada lets the travel agent confirm orders of at most 150 euros by itself, and ends that again. */
async function recordMandate({ ada, authenticator }: World, from: OwnerApproval): Promise<void> {
  await ada.record('mandateOptions', 'POST', `${MANDATES}/options`, { body: {} })
  const terms = {
    limits: { origins: ['https://shop.example'], methods: ['POST'], paths: ['/orders/*'] },
    body: {
      '/total': { atMost: '150.00' },
      '/currency': { equals: '"EUR"' },
      '/to': { equals: '"Example GmbH"' },
    },
    total: { pointer: '/total', amount: '500.00', days: 30 },
    perDay: 3,
    expiresAt: new Date(Date.parse(from.createdAt) + 30 * 86_400_000).toISOString(),
  }
  const { hostname: rpId } = new URL(EXAMPLE_URL)
  const [laptop] = authenticator.passkeys
  const challenge = mandateChallengeOf(from, terms)
  const response = authenticator.get({ challenge, rpId }, {}, laptop)
  const { id, agent } = from
  const body = { agent, from: id, ...terms, response }
  const { id: mandate } = await ada.record<Mandate>('createMandate', 'POST', MANDATES, {
    body,
    status: 201,
  })
  await ada.record('listMandates', 'GET', MANDATES)
  await ada.record('mandate', 'GET', `${MANDATES}/${mandate}`)
  await ada.record('endMandate', 'DELETE', `${MANDATES}/${mandate}`)
}
