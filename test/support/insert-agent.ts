import {
  insertAgent as insert,
  type NewAgent,
} from '../../packages/server/src/agents/claims/claim-table.ts'
import type { Tx } from '../../packages/server/src/database/database.ts'
import { thumbprintBytes } from '../../packages/server/src/secrets/ed25519.ts'

/** Inserts an agent without an event, as no service does. */
export function insertAgent(
  tx: Tx,
  agent: Omit<NewAgent, 'key_thumbprint' | 'responsible'> & Partial<Pick<NewAgent, 'responsible'>>,
): Promise<void> {
  const key_thumbprint = thumbprintBytes(agent.public_key)
  return insert(tx, { responsible: null, ...agent, key_thumbprint })
}
