import { keyThumbprint } from '@countersign/protocol'
import type { AgentRecord, StoredDirectoryProof } from '../agent-record.ts'

/** The signature to serve with an agent's key set: only of an active agent, of its current key, and not expired. */
export function validDirectoryProof(
  { status, publicKey, profile: { directoryProof: proof } }: AgentRecord,
  now: number,
): StoredDirectoryProof | null {
  if (proof === null || status !== 'active' || now >= proof.expires * 1000) return null
  return proof.keyid === keyThumbprint(publicKey) ? proof : null
}
