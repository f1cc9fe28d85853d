import { type Static, Type } from 'typebox'
import type { Naming } from '../naming.ts'
import { did, status, timestamp } from './formats.ts'
import { nullable } from './nullable.ts'

/** Contract 2.3. */
const ownerIdentity = () =>
  Type.Object({
    identityMethod: nullable(
      Type.String({ description: 'identity provider of the strongest current verification' }),
    ),
    identityLevel: Type.Enum(['verified', 'unverified'], { type: 'string' }),
    claimedAt: timestamp(),
  })

/** Contract 2.2. */
const certificate = (naming: Naming) =>
  Type.Object({
    id: did(naming),
    status: status(),
    verifyUrl: Type.String({ description: 'relative URL of the certificate page' }),
  })

/** Contract 4.1. */
export const lookupSchema = (naming: Naming) =>
  Type.Object(
    {
      verified: Type.Boolean({ description: 'true while the certificate is active' }),
      owner: ownerIdentity(),
      certificate: certificate(naming),
    },
    { description: "The agent's certificate and its owner's identity level" },
  )

export type Lookup = Static<ReturnType<typeof lookupSchema>>

/** The result of the identification header alone (contract section 5). */
export const identifySchema = (naming: Naming) =>
  Type.Object(
    {
      [naming.didField]: did(naming),
      verified: Type.Boolean({ description: 'true while the certificate is active' }),
      owner: ownerIdentity(),
      certificate: certificate(naming),
      identityLevel: Type.String({ description: 'identity provider, or `unverified`' }),
      suggestedUse: Type.Enum(['full', 'limited', 'deny'], {
        type: 'string',
        description: 'the suggested policy of the contract, section 5',
      }),
      proofOfPossession: Type.Literal(false, {
        description:
          'always false: anyone can send the header. Use a challenge for proof of possession',
      }),
    },
    { description: 'The agent in the identification header of this request' },
  )

export type Identify = Static<ReturnType<typeof identifySchema>>
