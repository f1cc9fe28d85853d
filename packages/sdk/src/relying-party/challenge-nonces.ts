import { encodeBase64Url } from '@countersign/protocol'
import type { SignedChallenge } from '../keys/signed-challenge.ts'
import type { ChallengeStore } from './challenge-store.ts'

/** Issues the nonces of challenges and accepts each once, in time. */
export interface ChallengeNonces {
  issue(): Promise<string>
  /**
   * @param answer the answer to the challenge, not yet verified
   * @returns false if the nonce was not issued here, is too old or was used
   */
  redeem(nonce: string, answer: SignedChallenge): Promise<boolean>
}

/** Stores every nonce until it is used. They have 192 random bits. */
export function storedNonces(store: ChallengeStore, lifetimeMs: number): ChallengeNonces {
  return {
    async issue() {
      const nonce = encodeBase64Url(crypto.getRandomValues(new Uint8Array(24)))
      await store.put(nonce, lifetimeMs)
      return nonce
    },
    redeem: (nonce) => store.take(nonce),
  }
}
