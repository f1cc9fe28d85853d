import { CodedError } from '@countersign/protocol'
import { StorageFailure, UnknownOutcome } from './database/database.ts'

/**
 * Reads, for the answer to a change that is committed, what came of it: where that fails, nobody says that nothing was
 * changed.
 * @throws UnknownOutcome, and what the read refuses
 */
export async function afterCommit<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof StorageFailure)) throw error
    throw new UnknownOutcome('It was changed, and what came of it cannot be read.', {
      cause: error,
    })
  }
}

/** Any error as one with a code. What is not a refusal of ours reveals nothing of itself. */
export function refusalOf(error: unknown): CodedError {
  if (error instanceof CodedError) return error
  if (error instanceof UnknownOutcome) {
    return new CodedError(
      'UNAVAILABLE',
      'The database was lost at the last moment: this has been done, or it has not. Look before you try again.',
      { cause: error },
    )
  }
  if (error instanceof StorageFailure) {
    return new CodedError('UNAVAILABLE', 'The database does not answer. Nothing was changed.', {
      cause: error,
      retryAfterSeconds: 1,
    })
  }
  return new CodedError(
    'INTERNAL_ERROR',
    'Something went wrong here. Nothing is wrong with the request.',
    {
      cause: error,
    },
  )
}
