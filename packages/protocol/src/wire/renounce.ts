import { type Static, Type } from 'typebox'
import type { Naming } from '../naming.ts'
import { did, issuedAt, keySequence, signature, status, timestamp } from './formats.ts'
import { nullable } from './nullable.ts'

/** `POST /api/v1/agent/{agent}/renounce` */
export const renounceRequestSchema = () =>
  Type.Object(
    {
      sequence: keySequence('the number of the current key: keySequence of the agent object'),
      issuedAt: issuedAt(),
      signature: signature(),
    },
    { additionalProperties: false },
  )

export type RenounceRequest = Static<ReturnType<typeof renounceRequestSchema>>

/** The agent after it renounced its certificate. */
export const renouncedSchema = (naming: Naming) =>
  Type.Object(
    {
      [naming.didField]: did(naming),
      status: status(),
      statusReason: nullable(Type.String()),
      statusChangedAt: timestamp(),
    },
    { description: 'The certificate is revoked' },
  )

export type Renounced = Static<ReturnType<typeof renouncedSchema>>
