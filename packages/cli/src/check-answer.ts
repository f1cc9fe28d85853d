import {
  type AgentStatus,
  decodeSignature,
  type Naming,
  type VerifyRequest,
  type VerifyResponse,
} from '@countersign/protocol'
import { challengeBytes } from './challenge.ts'
import { didIn, namingOfObject } from './deployment.ts'
import { checkSignature, fetchAgent } from './endpoints.ts'
import { Failure } from './failure.ts'
import type { Reference } from './reference.ts'

/** What an agent has answered to a challenge. */
export interface Proof {
  readonly challenge: string
  readonly signature: string
}

/** @throws Failure USAGE, LOOKS_LIKE_A_CLAIM for what can be no answer to a challenge; what `challengeBytes` throws */
export function requireProof({ challenge, signature }: Proof): void {
  challengeBytes(challenge)
  if (decodeSignature(signature) !== null) return
  throw new Failure('USAGE', 'A signature is 64 bytes in padded standard base64: 88 characters.')
}

/** Has the service check an answer by the key of the agent that was named (contract 4.3). */
export async function checkAnswer(
  service: URL,
  agent: Reference,
  { challenge, signature }: Proof,
): Promise<VerifyResponse> {
  const request = { ...(await holderOf(service, agent)), challenge, signature } as VerifyRequest
  return checkSignature(service, agent, request)
}

/**
 * The contract leaves open what the flag `verified` stands for: whatever else the answer says must agree with it.
 * @returns why the agent is not verified, or null
 */
export function faultOf({
  verified,
  signatureValid,
  certified,
  agent,
}: VerifyResponse): string | null {
  if (!signatureValid) return 'The signature is not one of this key over this challenge.'
  if (!certified) return 'The signature is good, but the key has no certificate.'
  const status: AgentStatus = agent.status
  if (status !== 'active') return `The signature is good, but the certificate is ${status}.`
  return verified
    ? null
    : 'The signature is good, but the service does not call the agent verified.'
}

/** The key to check, and the DID where one was named: a key may hold several. */
async function holderOf(service: URL, agent: Reference) {
  if (agent.kind === 'key') return { publicKey: agent.text }
  const object = await fetchAgent(service, agent)
  const { didField } = namingOfObject(object) as Naming
  return { publicKey: object.publicKey, [didField]: didIn(object) }
}
