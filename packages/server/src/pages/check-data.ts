import type { Card } from '@countersign/protocol'
import { cardOf } from '../agents/card.ts'
import type { ReadDeps } from '../agents/find-agent.ts'
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
  | { readonly kind: 'found'; readonly card: Card }
  | Exclude<AgentCheck, { kind: 'found' }>

export function agentAnswer({ site, now }: ReadDeps, check: AgentCheck): AgentAnswer {
  return check.kind === 'found' ? { kind: 'found', card: cardOf(site, check.view, now()) } : check
}
