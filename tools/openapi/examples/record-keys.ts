import {
  endDelegationsBody,
  recoveryBody,
  renounceBody,
  reportBody,
  rotationBody,
  vetoBody,
} from '../../../test/support/key-operations.ts'
import { signedHeaders } from '../../../test/support/sign-request.ts'
import { EXAMPLE_URL, fixedKey, passTime } from './example-service.ts'
import type { Agents } from './record-agents.ts'
import { agentPath, EXAMPLE_SERVICE, ownAgentPath, type World } from './world.ts'

/** Keys that are replaced, lost, stolen and given up. */
export async function recordKeys(world: World, agents: Agents): Promise<void> {
  await recordRotation(world, agents)
  await recordDelegation(world, agents)
  await recordRecovery(world, agents)
  await recordEnds(world, agents)
}

const signed = () => ({ issuedAt: passTime(0) })

/** The travel assistant changes its key. */
async function recordRotation({ anyone, ada }: World, { travel }: Agents): Promise<void> {
  const { did, key } = travel
  const path = `${agentPath(travel)}/keys`
  const next = fixedKey('travel-assistant 2')
  const body = rotationBody(EXAMPLE_SERVICE, did, { old: key, next, sequence: 2 }, signed())
  await anyone.record('rotateKey', 'POST', path, { body })
  await ada.record('agentLogOpenings', 'GET', `${ownAgentPath(travel)}/log`)
}

/** The travel assistant may delegate, and ends what it has delegated with its second key. */
async function recordDelegation({ anyone, ada }: World, { travel }: Agents): Promise<void> {
  const own = `${ownAgentPath(travel)}/delegation`
  await ada.record('allowDelegation', 'PUT', own, { body: { maxDepth: 1 } })
  await recordDelegationGroups({ anyone, ada }, travel)
  await ada.record('endOwnDelegations', 'POST', `${own}/end`, { body: {} })
  const key = { old: fixedKey('travel-assistant 2'), sequence: 2 }
  await anyone.record('endDelegations', 'POST', `${agentPath(travel)}/delegation/end`, {
    body: endDelegationsBody(EXAMPLE_SERVICE, travel.did, key, signed()),
  })
}

/** Two groups of workers: the agent ends one, its owner the other. */
async function recordDelegationGroups(
  { anyone, ada }: Pick<World, 'anyone' | 'ada'>,
  travel: Agents['travel'],
): Promise<void> {
  const target = `${agentPath(travel)}/delegations`
  const send = async (operationId: string, path: string, body: object, status = 200) => {
    const signedFields = await signedHeaders(
      EXAMPLE_SERVICE,
      travel.did,
      fixedKey('travel-assistant 2'),
      {
        method: 'POST',
        url: EXAMPLE_URL + path,
        headers: [['Content-Type', 'application/json']],
        body: JSON.stringify(body),
      },
    )
    const own = signedFields.filter(([name]) => !/^(Host|Content-Type)$/.test(name))
    return anyone.record(operationId, 'POST', path, {
      body,
      headers: Object.fromEntries(own),
      status,
    })
  }
  const flights = await send('createDelegationGroup', target, { label: 'Flight searches' }, 201)
  const hotels = await send('createDelegationGroup', target, { label: 'Hotel searches' }, 201)
  await ada.record('ownDelegationGroups', 'GET', `${ownAgentPath(travel)}/delegations`)
  await send('endDelegationGroup', `${target}/${flights.id}/end`, {})
  const end = `${ownAgentPath(travel)}/delegations/${hotels.id}/end`
  await ada.record('endOwnDelegationGroup', 'POST', end, { body: {} })
}

/** The key of Minutes is lost, it seems; then it is not. */
async function recordRecovery({ anyone, ada }: World, { minutes }: Agents): Promise<void> {
  const own = `${ownAgentPath(minutes)}/recovery`
  const { did, key } = minutes
  await ada.record('reactivateAgent', 'POST', `${ownAgentPath(minutes)}/reactivate`, {
    body: { reason: 'review_passed' },
  })
  const started = await ada.record('startRecovery', 'POST', own, {
    body: { reason: 'key_lost' },
    status: 201,
  })
  const next = fixedKey('minutes 2')
  const token = started.recoveryToken as string
  await anyone.record('recoverKey', 'POST', `${agentPath(minutes)}/recover`, {
    body: recoveryBody(EXAMPLE_SERVICE, did, { token, next, sequence: 2 }, signed()),
  })
  await anyone.record('vetoRecovery', 'POST', `${agentPath(minutes)}/recovery/veto`, {
    body: vetoBody(EXAMPLE_SERVICE, did, { old: key, sequence: 1 }, signed()),
  })
  await ada.send('POST', own, { body: { reason: 'key_lost' }, status: 201 })
  await ada.record('reissueRecoveryToken', 'POST', `${own}/token`, { body: {}, status: 201 })
  await ada.record('cancelRecovery', 'DELETE', own, { status: 204 })
}

/** What ends keys and agents. */
async function recordEnds({ anyone, ada }: World, agents: Agents): Promise<void> {
  const { travel, minutes } = agents
  await anyone.record('renounce', 'POST', `${agentPath(minutes)}/renounce`, {
    body: renounceBody(EXAMPLE_SERVICE, minutes.did, { old: minutes.key, sequence: 1 }, signed()),
  })
  await ada.record('contestKeys', 'POST', `${ownAgentPath(travel)}/keys/contest`, {
    body: { sequence: 1, reason: 'key_compromised' },
  })
  const stolen = { old: travel.key, sequence: 1 }
  await anyone.record('reportKey', 'POST', `${agentPath(travel)}/keys/compromised`, {
    body: reportBody(EXAMPLE_SERVICE, travel.did, stolen, signed()),
  })
  await ada.record('reportOwnKey', 'POST', `${ownAgentPath(minutes)}/keys/compromised`, {
    body: { sequence: 1 },
  })
  await ada.record('changeStatuses', 'POST', '/api/account/agents/status', {
    body: { agents: [travel.did, minutes.did], status: 'suspended', reason: 'under_review' },
  })
  await ada.record('revokeAllAgents', 'POST', '/api/account/agents/revoke-all', {
    body: { username: 'ada', reason: 'retired' },
  })
}
