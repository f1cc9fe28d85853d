import {
  type BulkStatus,
  type BulkStatusRequest,
  CodedError,
  canBecome,
  type Tail,
} from '@countersign/protocol'
import { appendNotification } from '../../accounts/notifications/notify-owner.ts'
import { tailOf } from '../../base/site.ts'
import type { AgentRow, Tx } from '../../database/database.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { agentByTail } from '../agent-table.ts'
import { revokeAgent, setStatus } from '../changes/set-status.ts'
import { noOwnAgent } from '../find-agent.ts'
import { cannotBecome } from './change-status.ts'

/**
 * Suspends or revokes agents of an owner in one transaction, with one notification. Agents that cannot have the status are refused,
 * the others change, and those that have it stay as they are. A revocation with the reason `key_compromised` burns the keys.
 * @returns the agents that did not change, each with the error that a request for it alone would have had
 */
export async function changeStatuses(
  { db, site, now }: Pick<CoreDeps, 'db' | 'site' | 'now'>,
  ownerId: number,
  { agents, status: to, reason = null }: BulkStatusRequest,
): Promise<BulkStatus> {
  return db.write(async (tx) => {
    const at = now()
    const refused: BulkStatus['refused'] = []
    const changed: AgentRow[] = []
    const revoked = new Set<string>()
    for (const did of agents) {
      const tail = tailOf(site.naming, did)
      const agent = await changeable(tx, ownerId, tail, to)
      if (agent instanceof CodedError) {
        const { code, message } = agent
        refused.push({ [site.naming.didField]: did, code, message })
        continue
      }
      // It had the status, or an agent with the same key was revoked as compromised.
      if (agent.status === to) continue
      const bulk = { reason, setBy: 'owner', isBulk: true } as const
      if (to === 'suspended') await setStatus(tx, tail, { to, ...bulk }, at)
      else for (const each of await revokeAgent(tx, agent, bulk, at)) revoked.add(each)
      changed.push(agent)
    }
    const count = Math.max(changed.length, revoked.size)
    const [first] = changed
    if (first !== undefined) await notify(tx, first, { to, reason, count }, at)
    return { refused }
  })
}

/** @returns the agent, or why it cannot have the status */
async function changeable(
  tx: Tx,
  ownerId: number,
  tail: Tail,
  to: BulkStatusRequest['status'],
): Promise<AgentRow | CodedError> {
  const agent = await agentByTail(tx.db, tail)
  if (agent?.owner_id !== ownerId) return noOwnAgent()
  const isAllowed = agent.status === to || canBecome(agent.status, to)
  return isAllowed ? agent : cannotBecome(agent.status, to)
}

/** @param agent the first one that changed, by whose name the notification goes */
async function notify(
  tx: Tx,
  { owner_id: ownerId, tail, agent_id: agentId }: AgentRow,
  { to, reason, count }: Change,
  at: number,
): Promise<void> {
  const kind = to === 'revoked' ? 'agent_revoked' : 'agent_suspended'
  const details = { tail, agentId, reason, by: 'owner', count }
  await appendNotification(tx, { ownerId, kind, subject: `${tail}:${at}`, details, at })
}

interface Change {
  readonly to: BulkStatusRequest['status']
  readonly reason: string | null
  /** The agents that changed. */
  readonly count: number
}
