import {
  AGENT_ID_PATTERN,
  type ClaimToken,
  claimMessage,
  encodeBase64,
  isClaimToken,
  type Naming,
  namingOfToken,
} from '@countersign/protocol'
import type { Claimed, Registry, Signer } from '@countersign/sdk'
import { Failure } from '@countersign/sdk/tool-support'

/** A claim token, and the naming of the deployment that issued it. */
export interface ParsedToken {
  readonly naming: Naming
  readonly token: ClaimToken
}

/**
 * Parses a claim token. A token is a secret until it is used, so no message repeats it.
 * @throws Failure USAGE
 */
export function parseToken(text: string): ParsedToken {
  const naming = namingOfToken(text)
  if (naming !== null && isClaimToken(naming, text)) return { naming, token: text }
  throw new Failure(
    'USAGE',
    'A claim token is a short name, -verify- and 32 hexadecimal characters.',
  )
}

/** @throws Failure USAGE */
export function assertAgentId(agentId: string): void {
  if (AGENT_ID_PATTERN.test(agentId)) return
  throw new Failure(
    'USAGE',
    'An agent id is a label of 1 to 128 characters without control characters.',
  )
}

/**
 * Signs and redeems a claim token (contract 4.4).
 * @param registry with the naming of the token
 * @throws CountersignError OUTCOME_UNKNOWN if the claim was sent without a response; and others of `Registry.redeem`
 */
export async function redeem(
  registry: Registry,
  token: ClaimToken,
  agentId: string,
  key: Signer,
): Promise<Claimed> {
  const signature = encodeBase64(await key.sign(claimMessage(token, agentId)))
  const publicKey = encodeBase64(key.publicKey)
  return registry.redeem({ claimToken: token, agentId, publicKey, signature })
}
