/** Contract 3.1. */
export const AGENT_STATUSES = ['active', 'suspended', 'revoked'] as const
export type AgentStatus = (typeof AGENT_STATUSES)[number]

/** The assurance levels of an identity verification, weakest first. */
export const ASSURANCES = ['low', 'substantial', 'high'] as const
export type Assurance = (typeof ASSURANCES)[number]

const NEXT: Readonly<Record<AgentStatus, readonly AgentStatus[]>> = {
  active: ['suspended', 'revoked'],
  suspended: ['active', 'revoked'],
  revoked: [],
}

/** Whether a status may change: active ⇄ suspended, both → revoked, which is final (docs/contract-notes.md). */
export function canBecome(from: AgentStatus, to: AgentStatus): boolean {
  return NEXT[from].includes(to)
}
