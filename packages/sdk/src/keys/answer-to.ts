import { challengeMessage, encodeBase64 } from '@countersign/protocol'
import type { AgentAnswer } from '../agent-options.ts'
import { CountersignError } from '../errors.ts'
import type { Signer } from './signer.ts'

/** Signs a challenge. @param did null: it is not known. @throws CountersignError NOT_A_CHALLENGE */
export async function answerTo(
  signer: Signer,
  challenge: string,
  did: string | null,
): Promise<AgentAnswer> {
  let message: Uint8Array
  try {
    message = challengeMessage(challenge)
  } catch (cause) {
    throw new CountersignError('NOT_A_CHALLENGE', (cause as Error).message, { cause })
  }
  const signature = encodeBase64(await signer.sign(message))
  const publicKey = encodeBase64(signer.publicKey)
  return { publicKey, challenge, signature, ...(did !== null && { did }) }
}
