import type { Transfer, TransferState } from '@countersign/protocol'

export const STATE_NAMES: Readonly<Record<TransferState, string>> = {
  offered: 'Offered',
  accepted: 'Accepted',
  done: 'Moved',
  declined: 'Declined',
  cancelled: 'Cancelled',
  expired: 'Expired',
  failed: 'Failed',
}

/** Why an accepted transfer did not take effect, by its error code. */
export const FAILURES: Readonly<Record<string, string>> = {
  AGENT_NOT_ACTIVE: 'an agent was revoked.',
  CONFLICT:
    'the operator suspended an agent, an agent renounced its certificate, a recovery of a key was pending, or an agent that stays has one of the keys.',
  FORBIDDEN: 'the operator suspended the sender or the receiver.',
  NOT_FOUND: 'an agent or an account no longer exists.',
}

export function agentCount(count: number): string {
  return count === 1 ? '1 agent' : `${count.toLocaleString('en')} agents`
}

/** Such as `2 agents from @ada`. */
export function transferTitle({ direction, agents, from, to }: Transfer): string {
  const other = direction === 'sent' ? to : from
  const who = other === null ? 'a deleted account' : `@${other}`
  return `${agentCount(agents)} ${direction === 'sent' ? 'to' : 'from'} ${who}`
}
