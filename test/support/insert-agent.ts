import {
  insertAgent as insert,
  type NewAgent,
} from '../../packages/server/src/agents/claims/claim-table.ts'
import type { Tx } from '../../packages/server/src/database/database.ts'
import { thumbprintBytes } from '../../packages/server/src/secrets/ed25519.ts'

/** Inserts an agent without an event, as no service does. */
export function insertAgent(tx: Tx, agent: Omit<NewAgent, 'key_thumbprint'>): Promise<void> {
  return insert(tx, { ...agent, key_thumbprint: thumbprintBytes(agent.public_key) })
}
