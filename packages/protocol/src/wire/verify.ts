import { type Static, Type } from 'typebox'
import type { Naming } from '../naming.ts'
import { CHALLENGE_PATTERN } from '../text.ts'
import { did, publicKey, signature, status } from './formats.ts'

/** Contract 4.3, with an optional DID for a key that holds several, and an optional audience. */
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
      audience: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 300,
          description: `your origin, such as https://shop.example: then only a challenge of the form ${naming.challengePrefix}<audience>:<nonce> for it is accepted`,
        }),
      ),
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
