import { type Static, Type } from 'typebox'
import { ERROR_STATUS, type ErrorCode } from '../errors.ts'

/** Contract section 7: the body of every response that is not a success. */
export const errorSchema = () =>
  Type.Object(
    {
      error: Type.Object({
        code: Type.Enum(Object.keys(ERROR_STATUS) as ErrorCode[], { type: 'string' }),
        message: Type.String({ description: 'for people; programs read the code' }),
        requestId: Type.String({ pattern: '^req_' }),
      }),
    },
    { description: 'An error' },
  )

export type ErrorEnvelope = Static<ReturnType<typeof errorSchema>>
