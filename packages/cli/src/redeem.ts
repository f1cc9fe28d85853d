import {
  AGENT_ID_PATTERN,
  type ClaimResponse,
  type ClaimToken,
  claimMessage,
  isClaimToken,
  type Naming,
} from '@countersign/protocol'
import type { AgentKey } from './agent-key.ts'
import { namingOfToken } from './deployment.ts'
import { redeemToken } from './endpoints.ts'
import { codeOf } from './exit.ts'
import { Failure } from './failure.ts'

/** After these, the claim may have gone through. */
const IN_DOUBT: readonly string[] = ['NO_ANSWER', 'UNEXPECTED_ANSWER', 'INTERNAL_ERROR']

/** A claim token, and the names of the deployment that has issued it. */
export interface ReadToken {
  readonly naming: Naming
  readonly token: ClaimToken
}

/**
 * Reads a claim token. It is a secret until it is used: no message repeats it.
 * @throws Failure USAGE
 */
export function parseToken(text: string): ReadToken {
  const naming = namingOfToken(text)
  if (naming !== null && isClaimToken(naming, text)) return { naming, token: text }
  throw new Failure(
    'USAGE',
    'A claim token is a short name, -verify- and 32 hexadecimal characters.',
  )
}

/** @throws Failure USAGE where a label can be none */
export function requireAgentId(agentId: string): void {
  if (AGENT_ID_PATTERN.test(agentId)) return
  throw new Failure(
    'USAGE',
    'An agent id is a label of 1 to 128 characters without control characters.',
  )
}

/**
 * Redeems a claim token (contract 4.4).
 * @throws Failure OUTCOME_UNKNOWN where it left and no answer came; and what `redeemToken` throws
 */
export async function redeem(
  service: URL,
  { naming, token }: ReadToken,
  agentId: string,
  key: AgentKey,
): Promise<{ did: string; answer: ClaimResponse }> {
  const signature = key.sign(claimMessage(token, agentId))
  const request = { claimToken: token, agentId, publicKey: key.publicKey, signature }
  try {
    const answer = await redeemToken(service, naming, request)
    return { did: answer[naming.didField], answer }
  } catch (error) {
    if (!IN_DOUBT.includes(codeOf(error))) throw error
    throw new Failure(
      'OUTCOME_UNKNOWN',
      `${(error as Error).message} Whether the claim went through is unknown: countersign whoami tells, and trying again is safe.`,
      { cause: error },
    )
  }
}
