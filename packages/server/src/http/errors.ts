import { CodedError } from '@countersign/protocol'
import { StorageFailure, UnknownOutcome } from '../database/database.ts'

/**
 * Reads the result of a change that is already committed, for the response. Turns a failure of the database into
 * UnknownOutcome, because StorageFailure would tell the client that nothing was changed.
 * @throws UnknownOutcome, or what `read` throws
 */
export async function afterCommit<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof StorageFailure)) throw error
    throw new UnknownOutcome('The change was made, but its result cannot be read.', {
      cause: error,
    })
  }
}

/** Turns any error into one for the client. An unexpected error becomes INTERNAL_ERROR, with its details only in `cause`. */
export function toCodedError(error: unknown): CodedError {
  if (error instanceof CodedError) return error
  if (error instanceof UnknownOutcome) {
    return new CodedError(
      'UNAVAILABLE',
      'The connection to the database was lost during the commit, so the change may or may not have been made. Check before you try again.',
      { cause: error },
    )
  }
  if (error instanceof StorageFailure) {
    return new CodedError('UNAVAILABLE', 'The database does not respond. Nothing was changed.', {
      cause: error,
      retryAfterSeconds: 1,
    })
  }
  return new CodedError(
    'INTERNAL_ERROR',
    'Internal error. The request may be correct. Report the requestId to the operator.',
    {
      cause: error,
    },
  )
}
