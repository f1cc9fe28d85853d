import { CodedError } from '@countersign/protocol'
import { StorageFailure, UnknownOutcome } from '../storage/database.ts'

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
