import { challengeMessage, decodeKey, decodeSignature } from '@countersign/protocol'
import { CountersignError } from '../errors.ts'
import { isSignature } from './verify-signature.ts'

/** An answer to a challenge in the form of the contract (4.3). */
export interface SignedChallenge {
  /** 32 bytes in padded standard base64. */
  readonly publicKey: string
  readonly challenge: string
  /** 64 bytes in padded standard base64. */
  readonly signature: string
}

/**
 * Checks the signature of an answer offline. Whether the key has an active certificate only the service knows:
 * `Registry.verify`.
 * @returns false also if the answer is malformed or its challenge could be signed bytes of another protocol
 */
export async function isSignedChallenge(answer: SignedChallenge): Promise<boolean> {
  const { publicKey, signature, challenge } = answer
  const [key, bytes, message] = [
    decodeKey(publicKey),
    decodeSignature(signature),
    messageOf(challenge),
  ]
  return key !== null && bytes !== null && message !== null && isSignature(key, message, bytes)
}

/**
 * Checks the form of an answer before it is sent.
 * @throws CountersignError INVALID_ARGUMENT
 */
export function checkedAnswer(answer: SignedChallenge): SignedChallenge {
  const { publicKey, signature, challenge } = answer
  if (decodeKey(publicKey) === null) throw invalid('publicKey is not 32 bytes in padded base64.')
  if (decodeSignature(signature) === null)
    throw invalid('signature is not 64 bytes in padded base64.')
  try {
    challengeMessage(challenge)
  } catch (error) {
    throw invalid((error as Error).message)
  }
  return answer
}

function messageOf(challenge: string): Uint8Array | null {
  try {
    return challengeMessage(challenge)
  } catch {
    return null
  }
}

function invalid(message: string): CountersignError {
  return new CountersignError('INVALID_ARGUMENT', message)
}
