import {
  CLAIM_LOOKALIKE,
  challengeMessage,
  decodeSignature,
  referenceKind,
} from '@countersign/protocol'
import type { Registry, Verification } from '@countersign/sdk'
import { Failure } from './errors.ts'

/**
 * The bytes to sign for a challenge. It refuses what has the form of a claim of any deployment.
 * @throws Failure LOOKS_LIKE_A_CLAIM
 * @throws CodedError VALIDATION_ERROR if it is empty, over 8,192 bytes, not well-formed or contains U+0000
 */
export function challengeBytes(challenge: string): Uint8Array {
  if (CLAIM_LOOKALIKE.test(challenge)) {
    throw new Failure(
      'LOOKS_LIKE_A_CLAIM',
      'This is no challenge but a claim: a signature on it would give your key to whoever issued the token. If the token is yours, use: countersign claim <token>',
    )
  }
  return challengeMessage(challenge)
}

/** An agent's answer to a challenge. */
export interface Proof {
  readonly challenge: string
  /** 64 bytes in padded standard base64. */
  readonly signature: string
}

/** @throws Failure USAGE, LOOKS_LIKE_A_CLAIM; CodedError VALIDATION_ERROR, if it cannot be an answer to a challenge */
export function assertProof({ challenge, signature }: Proof): void {
  challengeBytes(challenge)
  if (decodeSignature(signature) !== null) return
  throw new Failure('USAGE', 'A signature is 64 bytes in padded standard base64: 88 characters.')
}

/**
 * Has the service verify an answer with the key of the named agent (contract 4.3).
 * @param agent a DID, a tail or a public key
 */
export async function verifyProof(
  registry: Registry,
  agent: string,
  { challenge, signature }: Proof,
): Promise<Verification> {
  if (referenceKind(agent) === 'key') {
    return registry.verify({ publicKey: agent, challenge, signature })
  }
  const { publicKey, did } = await registry.agent(agent)
  return registry.verify({ publicKey, did, challenge, signature })
}

/**
 * The contract does not say what `verified` covers, so every other field of the response must agree with it.
 * @returns why the agent is not verified; null if it is
 */
export function reasonNotVerified({
  verified,
  signatureValid,
  certified,
  agent,
}: Verification): string | null {
  if (!signatureValid) return 'The signature is not one of this key over this challenge.'
  if (!certified) return 'The signature is good, but the key has no certificate.'
  if (agent.status !== 'active') {
    return `The signature is good, but the certificate is ${agent.status}.`
  }
  return verified
    ? null
    : 'The signature is good, but the service does not call the agent verified.'
}

/** @throws Failure USAGE if the text cannot name an agent */
export function assertReference(agent: string): void {
  if (referenceKind(agent) !== null) return
  throw new Failure(
    'USAGE',
    'Name an agent by its DID (a short name, :agent: and 24 base58 characters), by those 24 characters alone, or by its public key (32 bytes in padded standard base64).',
  )
}
