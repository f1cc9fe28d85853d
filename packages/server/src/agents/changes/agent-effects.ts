import type { AgentRow, Tx } from '../../database/database.ts'
import type { EventType } from '../../database/event-table.ts'

/** A change of an agent that was written in this transaction. */
export interface Changed {
  readonly type: EventType
  /** The agent before the change. */
  readonly before: AgentRow
  /** Milliseconds since 1970. */
  readonly at: number
}

/** What follows from changes of agents, in the transaction of the change. */
export interface AgentEffect {
  readonly on: readonly EventType[]
  run(tx: Tx, changed: Changed): Promise<void>
}

declare module '../../database/database.ts' {
  interface Effects {
    readonly agentChanged: readonly AgentEffect[]
  }
}

/** Runs what follows from a change of an agent. */
export async function announce(tx: Tx, changed: Changed): Promise<void> {
  for (const effect of tx.effects.agentChanged) {
    if (effect.on.includes(changed.type)) await effect.run(tx, changed)
  }
}
