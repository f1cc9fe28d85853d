import type { OwnerAgent, SessionState } from '@countersign/protocol'
import { didOf, nameOf } from '../../agents/did.ts'

/** An agent that may be offered, with what the page shows of it. */
export interface OfferedAgent extends Pick<OwnerAgent, 'status' | 'grade' | 'tier'> {
  readonly did: string
  readonly name: string
}

export function offeredAgent(service: SessionState['service'], agent: OwnerAgent): OfferedAgent {
  const { status, grade, tier } = agent
  return { did: didOf(service, agent), name: nameOf(agent), status, grade, tier }
}
