import { type Static, Type } from 'typebox'
import type { Naming } from '../naming.ts'
import { did, signature, timestamp } from './formats.ts'

/** `POST /api/agents/{agent}/runtime/challenge` */
export const runtimeChallengeSchema = (naming: Naming) =>
  Type.Object(
    {
      challenge: Type.String({
        description: `what to sign, as UTF-8: ${naming.challengePrefix}<origin of this service>:<nonce>`,
      }),
      expiresAt: timestamp(),
    },
    { description: 'A challenge for this agent alone' },
  )

export type RuntimeChallenge = Static<ReturnType<typeof runtimeChallengeSchema>>

/** `POST /api/agents/{agent}/runtime` */
export const runtimeAnswerSchema = (naming: Naming) =>
  Type.Object(
    {
      challenge: Type.String({
        minLength: 1,
        maxLength: 512,
        description: `the challenge as received: ${naming.challengePrefix}…`,
      }),
      signature: signature(),
    },
    { additionalProperties: false },
  )

export type RuntimeAnswer = Static<ReturnType<typeof runtimeAnswerSchema>>

/** The runtime channel of an agent after it has answered. */
export const runtimeProofSchema = (naming: Naming) =>
  Type.Object(
    {
      [naming.didField]: did(naming),
      kind: Type.String(),
      handleOrDomain: Type.String({ description: 'the name of the place, from the owner' }),
      verifiedAt: timestamp(),
      checkedAt: { ...timestamp(), description: 'when it last proved the channel' },
      freshUntil: { ...timestamp(), description: 'when the proof expires' },
      grade: Type.Enum(['A', 'B', 'C', 'D', 'E'], { type: 'string' }),
    },
    { description: 'The runtime channel is proven' },
  )

export type RuntimeProof = Static<ReturnType<typeof runtimeProofSchema>>
