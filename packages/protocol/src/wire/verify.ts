import { type Static, Type } from 'typebox'
import type { Naming } from '../naming.ts'
import { CHALLENGE_PATTERN } from '../text.ts'
import { did, publicKey, signature, status } from './formats.ts'

/** Contract 4.3, and an optional DID for a key that holds several. */
export const verifyRequestSchema = (naming: Naming) =>
  Type.Object(
    {
      publicKey: publicKey(),
      challenge: Type.String({
        pattern: CHALLENGE_PATTERN.source,
        minLength: 1,
        description: '1 to 8,192 bytes of UTF-8, well-formed, without U+0000',
      }),
      signature: signature(),
      [naming.didField]: Type.Optional(did(naming)),
    },
    { additionalProperties: false },
  )

export type VerifyRequest = Static<ReturnType<typeof verifyRequestSchema>>

/** Contract 4.3. */
export const verifyResponseSchema = (naming: Naming) =>
  Type.Object(
    {
      verified: Type.Boolean({
        description: 'signatureValid and certified, and the certificate is active',
      }),
      signatureValid: Type.Boolean(),
      certified: Type.Boolean(),
      identityLevel: Type.String({ description: "owner's identity provider, or `unverified`" }),
      agent: Type.Object({
        [naming.didField]: did(naming),
        displayName: Type.String(),
        status: status(),
      }),
    },
    { description: 'The agent controls the key' },
  )

export type VerifyResponse = Static<ReturnType<typeof verifyResponseSchema>>
