import type { Card } from '@countersign/protocol'
import { cardOf } from '../agents/card.ts'
import type { ReadDeps } from '../agents/find-agent.ts'
import type { AgentCheck } from './check-agent.ts'
import type { SignatureCheck, SignatureQuestion } from './check-signature.ts'

/** What the check page shows: what was asked, and what is said to it. */
export interface CheckPageData {
  readonly agent: { readonly asked: string; readonly answer: AgentAnswer } | null
  readonly proof: { readonly asked: SignatureQuestion; readonly answer: SignatureCheck } | null
}

export type AgentAnswer =
  | { readonly kind: 'found'; readonly card: Card }
  | Exclude<AgentCheck, { kind: 'found' }>

export function agentAnswer({ site, now }: ReadDeps, check: AgentCheck): AgentAnswer {
  return check.kind === 'found' ? { kind: 'found', card: cardOf(site, check.view, now()) } : check
}
