import { openCheckpoint } from './checkpoint.ts'
import { isAgentEntry, KEY_ENTRY_TYPES, parseLogEntry } from './log-entry.ts'
import { parseLogProof } from './log-proof.ts'
import { hashLeaf, verifyInclusion } from './merkle-tree.ts'
import { cosignaturesOf, isQuorum, type LogPolicy, type WitnessedCheckpoint } from './policy.ts'
import type { VerifyEd25519 } from './signed-note.ts'

/** The longest proof that is read, in bytes. One among a billion entries, with 16 cosignatures, has below 6,000. */
export const KEY_PROOF_MAX_BYTES = 65_536

/** Which key of which agent. */
export interface AgentKeyId {
  readonly did: string
  /** JWK thumbprint (RFC 7638), base64url. */
  readonly keyThumbprint: string
  /** The number of this key among the agent's keys, from 1. */
  readonly keySequence: number
}

/** Why a proof does not show that a key is in a log. */
export type KeyProofFault =
  /** It is no proof with an entry, or the entry is not under the checkpoint. */
  | 'invalid'
  /** Its entry is about another agent or another key, or did not make this key the current one. */
  | 'other-key'
  /** The checkpoint is not signed by a log of the policy. */
  | 'other-log'
  /** The checkpoint lacks cosignatures that the policy requires. */
  | 'no-quorum'

/** The place of a key in a log. */
export interface KeyProof extends WitnessedCheckpoint {
  /** Of the entry, from 0. */
  readonly index: number
}

/**
 * Verifies that the key of an agent is in a log. The proof shows that the key was logged, not that the agent is still active.
 * @param proof the text that the service serves at `/log/proof/{did}` (C2SP tlog-proof, the entry as `extra`)
 * @param policy its logs are accepted, under checkpoints with its quorum
 */
export async function verifyKeyProof(
  proof: string,
  key: AgentKeyId,
  policy: LogPolicy,
  verify: VerifyEd25519,
): Promise<KeyProof | KeyProofFault> {
  const parsed = parseLogProof(proof)
  const entry = parsed?.extra ? parseLogEntry(parsed.extra) : null
  if (!parsed?.extra || entry === null) return 'invalid'
  const isOfKey =
    isAgentEntry(entry) &&
    KEY_ENTRY_TYPES.includes(entry.type) &&
    entry.did === key.did &&
    entry.key === key.keyThumbprint &&
    entry.keySequence === key.keySequence
  if (!isOfKey) return 'other-key'
  const { index, path, checkpoint: signed } = parsed
  for (const log of policy.logs) {
    const opened = await openCheckpoint(signed, log.key, verify)
    if (opened === null) continue
    const { size, root } = opened.checkpoint
    if (!verifyInclusion({ index, size, leaf: hashLeaf(parsed.extra), root }, path)) {
      return 'invalid'
    }
    const cosignatures = await cosignaturesOf(opened.note, policy, verify)
    const names = cosignatures.map(({ witness }) => witness.name)
    return isQuorum(policy, names) ? { ...opened, key: log.key, cosignatures, index } : 'no-quorum'
  }
  return 'other-log'
}
