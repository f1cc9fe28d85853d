import { type Static, Type } from 'typebox'
import { SIGNATURE_REASONS } from '../http-signatures/signature-verdict.ts'
import type { SignatureReason, SignatureVerdict } from '../http-signatures/signed-request-types.ts'
import type { Naming } from '../naming.ts'
import { did, timestamp } from './formats.ts'
import { nullable } from './nullable.ts'

/** A request that a site has received, for `POST /api/v1/verify-request`. */
export const signedRequestSchema = () =>
  Type.Object(
    {
      method: Type.String({
        pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$",
        description: 'the method as received, such as GET',
      }),
      url: Type.String({
        pattern: '^https?://',
        maxLength: 8192,
        description:
          'the scheme and the host at which the request was received, and path and query exactly as received',
      }),
      headers: Type.Array(
        Type.Array(Type.String(), {
          minItems: 2,
          maxItems: 2,
          description: 'name and value of a header field',
        }),
        {
          maxItems: 200,
          description: 'all header fields as received, one entry for each line, repeated ones too',
        },
      ),
      audience: Type.String({
        minLength: 1,
        maxLength: 300,
        description:
          'your origin, such as https://shop.example, from your settings. Never take it from the request',
      }),
    },
    { additionalProperties: false },
  )

export type SignedRequest = Static<ReturnType<typeof signedRequestSchema>>

const VERDICTS: readonly SignatureVerdict[] = ['verified', 'invalid', 'unverified']
const REASONS = Object.keys(SIGNATURE_REASONS) as SignatureReason[]

/** The verdict on a signed request. */
export const signedRequestVerdictSchema = (naming: Naming) =>
  Type.Object(
    {
      verdict: Type.Enum([...VERDICTS], {
        type: 'string',
        description: 'verified: the agent holds its key, and its certificate is active',
      }),
      reason: Type.Unsafe<SignatureReason | null>({
        type: ['string', 'null'],
        enum: [...REASONS, null],
        description: 'null if it is verified',
      }),
      [naming.didField]: nullable(did(naming)),
      keyid: nullable(
        Type.String({
          pattern: '^[A-Za-z0-9_-]{43}$',
          description: 'the JWK thumbprint that the signature names',
        }),
      ),
      replay: Type.Literal('unchecked', {
        description: 'the service does not record nonces: store replayKey yourself',
      }),
      replayKey: nullable(
        Type.String({
          description:
            'the same for each copy of the request: refuse it if you have stored it before. null unless verified',
        }),
      ),
      replayUntil: nullable(timestamp()),
      digest: Type.Enum(['unchecked', 'none'], {
        type: 'string',
        description:
          'unchecked: compare the body with Content-Digest, which is covered if verified. none: nothing covers a body',
      }),
    },
    { description: "The result of verifying the request's signature" },
  )

export type SignedRequestVerdict = Static<ReturnType<typeof signedRequestVerdictSchema>>
