/** Contract 3.1. */
export const AGENT_STATUSES = ['active', 'suspended', 'revoked'] as const
export type AgentStatus = (typeof AGENT_STATUSES)[number]

/** How much a check of somebody's identity is worth, weakest first. */
export const ASSURANCES = ['low', 'substantial', 'high'] as const
export type Assurance = (typeof ASSURANCES)[number]

const NEXT: Readonly<Record<AgentStatus, readonly AgentStatus[]>> = {
  active: ['suspended', 'revoked'],
  suspended: ['active', 'revoked'],
  revoked: [],
}

/** active ⇄ suspended, either → revoked, and that is final (docs/contract-notes.md). */
export function canBecome(from: AgentStatus, to: AgentStatus): boolean {
  return NEXT[from].includes(to)
}
