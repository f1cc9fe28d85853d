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

/** An agent that has renounced its certificate. */
export const renouncedSchema = (naming: Naming) =>
  Type.Object(
    {
      [naming.didField]: did(naming),
      status: status(),
      statusReason: nullable(Type.String()),
      statusChangedAt: timestamp(),
      finalAt: nullable(
        Type.String({
          format: 'date-time',
          description: 'when it is revoked; null: it is revoked',
        }),
      ),
    },
    { description: 'The agent is suspended until `finalAt`, and then revoked' },
  )

export type Renounced = Static<ReturnType<typeof renouncedSchema>>
