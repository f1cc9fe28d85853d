/** Contract 3.1. */
export const AGENT_STATUSES = ['active', 'suspended', 'revoked'] as const
export type AgentStatus = (typeof AGENT_STATUSES)[number]

/** Who can set an agent's status. `agent`: by renouncing; `service`: because its key was reported as
 * compromised, 72 hours after it renounced, or without a responsible person. */
export const STATUS_SETTERS = ['owner', 'operator', 'agent', 'service'] as const
export type StatusActor = (typeof STATUS_SETTERS)[number]

/** The status reason that burns the key: no agent's certificate with it is valid, and nobody can claim it again. */
export const KEY_COMPROMISED = 'key_compromised'
/** The status reason of agents that gave up their certificate themselves: suspended, and revoked after 72 hours. */
export const RENOUNCED_BY_AGENT = 'renounced_by_agent'
/** The status reason of agents whose current key the database has lost in a restore: the log has only its thumbprint. */
export const KEY_UNKNOWN_AFTER_RESTORE = 'key_unknown_after_restore'
/** The status reason of agents of an organisation that have had no responsible person for too long. */
export const OWNER_LOST = 'owner_lost'
/** The status reason of agents that moved to another owner before a restore: the log does not name that owner. */
export const OWNER_UNKNOWN_AFTER_RESTORE = 'owner_unknown_after_restore'

/** The assurance levels of an identity verification, weakest first. */
export const ASSURANCES = ['low', 'substantial', 'high'] as const
export type Assurance = (typeof ASSURANCES)[number]

const NEXT: Readonly<Record<AgentStatus, readonly AgentStatus[]>> = {
  active: ['suspended', 'revoked'],
  suspended: ['active', 'revoked'],
  revoked: [],
}

/** Whether a status may change: active ⇄ suspended, both → revoked, which is final (docs/contract/states.md). */
export function canBecome(from: AgentStatus, to: AgentStatus): boolean {
  return NEXT[from].includes(to)
}
