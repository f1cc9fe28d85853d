import { isLost, type MembershipEffect } from '../../accounts/organisations/end-membership.ts'
import type { Tx } from '../../database/database.ts'
import { cancelJob } from '../../database/jobs/job-table.ts'
import type { Change } from '../changes/change.ts'
import { type AgentEffect, changeAgent } from '../changes/change-agent.ts'
import { deleteRecovery, recoveriesBy } from './key-table.ts'

/** The kind of job that makes the new key of a recovery current. */
export const COMPLETE_RECOVERY = 'complete-recovery'

/** The id of the job of an agent. */
export function recoveryJobOf(tail: string): string {
  return `${COMPLETE_RECOVERY}:${tail}`
}

/** The change that ends a recovery without a new key. */
type RecoveryEnd = Extract<
  Change,
  { readonly type: 'agent.key_recovery_vetoed' | 'agent.key_recovery_cancelled' }
>

/**
 * Ends the pending recovery of an agent, if any, within the caller's transaction. A burned key stays burned, and a suspended agent
 * suspended.
 * @param at milliseconds since the Unix epoch
 */
export async function endRecovery(
  tx: Tx,
  tail: string,
  end: RecoveryEnd,
  at: number,
): Promise<void> {
  if (!(await deleteRecovery(tx, tail))) return
  await cancelJob(tx, recoveryJobOf(tail))
  await changeAgent(tx, tail, end, at)
}

/**
 * The recoveries that a member has started end once they may no longer start any: they may have the token, or the new key.
 */
export const recoveriesOfEndedMember: MembershipEffect = async (tx, lost, at) => {
  if (!isLost(lost, 'manager')) return {}
  const tails = await recoveriesBy(tx.db, lost.membership.id)
  const end = { type: 'agent.key_recovery_cancelled', reason: 'member_left' } as const
  for (const tail of tails) await endRecovery(tx, tail, end, at)
  return { recoveriesEnded: tails.length }
}

/** Why the pending recovery ends. */
const REASONS = {
  'agent.revoked': 'revoked',
  'agent.key_rotated': 'rotated',
  'agent.key_contested': 'contested',
} as const

/** The pending recovery of an agent ends once the agent is revoked or has another key. */
export const recoveryOfChangedAgent: AgentEffect = {
  on: Object.keys(REASONS) as (keyof typeof REASONS)[],
  makes: ['agent.key_recovery_cancelled'],
  async run(tx, { change, after, at }) {
    if (change.type === 'agent.key_contested' && change.newKey === null) return
    const reason = REASONS[change.type as keyof typeof REASONS]
    await endRecovery(tx, after.tail, { type: 'agent.key_recovery_cancelled', reason }, at)
  },
}
