import type { Database } from '../../database/database.ts'
import { type AgentOfKey, agentsOfThumbprint } from './key-table.ts'

/** At most this many agents in the response. One key can have any number of labels. */
const MAX_AGENTS = 100

/**
 * Finds the agents with a key. Reads the database and not the read model, which has no index of thumbprints: it would cost
 * 8 bytes and a SHA-256 for each agent at every start, and would not have the agents beyond `READ_MODEL_AGENTS`.
 * @param thumbprint 32 bytes
 * @returns agents that are not revoked: active ones first, then in the order of their claims; at most 100
 * @throws StorageFailure
 */
export function agentsOfKey(
  { pointReads }: Pick<Database, 'pointReads'>,
  thumbprint: Uint8Array,
): Promise<AgentOfKey[]> {
  return agentsOfThumbprint(pointReads, thumbprint, MAX_AGENTS)
}
