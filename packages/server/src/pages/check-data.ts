import type { Card, StatusActor } from '@countersign/protocol'
import { agentByTail } from '../agents/agent-table.ts'
import { cardOf } from '../agents/card.ts'
import type { PageReadDeps } from '../agents/find-agent.ts'
import { startOfDay, timestamp } from '../base/timestamp.ts'
import type { AgentCheck } from './check-agent.ts'
import type { PageChallenge } from './check-challenge.ts'
import type { SignatureCheck, SignatureForm } from './check-signature.ts'

/** The data of the check page: the input and its result. Null: that step has not been taken. */
export interface CheckPageData {
  readonly agent: { readonly asked: string; readonly answer: AgentAnswer } | null
  /** Only for an agent that was found. */
  readonly challenge: PageChallenge | null
  readonly proof: { readonly asked: SignatureForm; readonly answer: SignatureCheck } | null
}

export type AgentAnswer =
  | { readonly kind: 'found'; readonly card: Card; readonly statusSet: StatusSet }
  | Exclude<AgentCheck, { kind: 'found' }>

/** Since when an agent has its status, and why. */
interface StatusSet {
  /** The day, ISO 8601. */
  readonly at: string
  /** Null if the database cannot be read: the rest is in memory. */
  readonly by: StatusActor | null
  readonly reason: string | null
}

export async function agentAnswer(deps: PageReadDeps, check: AgentCheck): Promise<AgentAnswer> {
  if (check.kind !== 'found') return check
  const { tail, profile } = check.view.agent
  const row = await agentByTail(deps.db, tail).catch(() => undefined)
  return {
    kind: 'found',
    card: cardOf(deps.site, check.view, deps.now()),
    statusSet: {
      at: timestamp(startOfDay(profile.statusChangedAt)),
      by: row?.status_set_by ?? null,
      reason: profile.statusReason,
    },
  }
}
