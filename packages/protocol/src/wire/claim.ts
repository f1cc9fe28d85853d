import { type Static, Type } from 'typebox'
import type { Naming } from '../naming.ts'
import { AGENT_ID_PATTERN } from '../text.ts'
import { did, publicKey, signature } from './formats.ts'

/** Contract 4.4. */
export const claimRequestSchema = (naming: Naming) =>
  Type.Object(
    {
      claimToken: Type.String({
        pattern: naming.tokenPattern.source,
        description: `a claim token: ${naming.tokenPrefix} and 32 lower-case hexadecimal characters`,
      }),
      agentId: Type.String({
        pattern: AGENT_ID_PATTERN.source,
        description: 'a label of 1 to 128 characters without control characters',
      }),
      publicKey: publicKey(),
      signature: signature(),
    },
    { additionalProperties: false },
  )

export type ClaimRequest = Static<ReturnType<typeof claimRequestSchema>>

/** Contract 4.4. */
export const claimResponseSchema = (naming: Naming) =>
  Type.Object(
    {
      success: Type.Literal(true),
      message: Type.String(),
      [naming.didField]: did(naming),
    },
    { description: "The agent's new DID" },
  )

export type ClaimResponse = Static<ReturnType<typeof claimResponseSchema>>
