import { type Static, Type } from 'typebox'
import type { Naming } from '../naming.ts'
import { did, timestamp } from './formats.ts'
import { thumbprint } from './key-set.ts'

const field = (description: string) => Type.String({ minLength: 1, maxLength: 1024, description })

/** `PUT /api/v1/agent/{agent}/directory-proof` */
export const directoryProofRequestSchema = () =>
  Type.Object(
    {
      signatureInput: field(
        'the value of Signature-Input: one member, which covers only "@authority";req',
      ),
      signature: field('the value of Signature: one member with the same name'),
    },
    { additionalProperties: false },
  )

export type DirectoryProofRequest = Static<ReturnType<typeof directoryProofRequestSchema>>

/** A signature over an agent's key set that the service serves with it. */
export const directoryProofSchema = (naming: Naming) =>
  Type.Object(
    {
      [naming.didField]: did(naming),
      keyid: thumbprint('the JWK thumbprint of the key that signed'),
      expiresAt: timestamp(),
    },
    { description: 'The key set is served with this signature until it expires' },
  )

export type DirectoryProof = Static<ReturnType<typeof directoryProofSchema>>
