import {
  type KeyProofFault,
  verifyKeyProof as keyProofOf,
  type LogPolicy,
  parsePolicy,
} from '@countersign/protocol'
import { CountersignError } from '../errors.ts'
import { isSignature } from '../keys/verify-signature.ts'

/** Options of `verifyKeyProof`: which key, as a verified certificate or the agent object has it, and what you trust. */
export interface VerifyKeyProofOptions {
  readonly did: string
  /** JWK thumbprint (RFC 7638), base64url. */
  readonly keyThumbprint: string
  /** The number of this key among the agent's keys, from 1. */
  readonly keySequence: number
  /**
   * The logs that you accept and the witnesses that have to cosign, in the syntax of C2SP tlog-policy: lines `log <vkey>`,
   * `witness <name> <vkey>`, `group <name> all|any|<k> <name>…` and `quorum <name>|none`. Do not count witnesses of the operator of the log.
   */
  readonly policy: string
}

/** The place of a key in a transparency log. */
export interface VerifiedKeyProof {
  /** The name of the log. */
  readonly origin: string
  /** The index of the entry of the key, from 0. */
  readonly index: number
  /** How many entries are under the checkpoint. */
  readonly size: number
  /** Witnesses of the policy that have cosigned the checkpoint, by their names there; `time` in Unix seconds. */
  readonly witnesses: readonly { readonly name: string; readonly time: number }[]
}

/**
 * Verifies that the key of an agent is in a transparency log (C2SP tlog-proof), without the network. It shows that the key was logged,
 * not that the agent is still active.
 * @param proof as `Registry.logProof` returns it
 * @throws CountersignError INVALID_PROOF; INVALID_ARGUMENT if the policy is malformed
 */
export async function verifyKeyProof(
  proof: string,
  { policy, ...key }: VerifyKeyProofOptions,
): Promise<VerifiedKeyProof> {
  const verified = await keyProofOf(proof, key, policyOf(policy), isSignature)
  if (typeof verified === 'string') throw new CountersignError('INVALID_PROOF', MESSAGES[verified])
  const { checkpoint, cosignatures, index } = verified
  const witnesses = cosignatures.map(({ witness, time }) => ({ name: witness.name, time }))
  return { origin: checkpoint.origin, index, size: checkpoint.size, witnesses }
}

const MESSAGES: Readonly<Record<KeyProofFault, string>> = {
  invalid: 'The proof is malformed, or its entry is not under its checkpoint.',
  'other-key': 'The proof is for another agent or another key.',
  'other-log': 'The checkpoint of the proof is not signed by a log of the policy.',
  'no-quorum': 'The checkpoint of the proof lacks cosignatures that the policy requires.',
}

function policyOf(text: string): LogPolicy {
  try {
    return parsePolicy(text)
  } catch (error) {
    throw new CountersignError('INVALID_ARGUMENT', (error as Error).message)
  }
}
