import { CodedError, type ErrorCode, EXIT } from '@countersign/protocol'
import { OtherPepperError } from '../../accounts/identity/pepper-check.ts'
import { SettingsError } from '../../base/config.ts'
import { StorageFailure } from '../../database/database.ts'
import { NewerSchemaError, UnreleasedSchemaError } from '../../database/migrate.ts'
import { OtherBaseUrlError } from '../../database/same-base-url.ts'
import { AlreadyServedError } from '../../database/sqlite/process-lock.ts'
import { OtherIssuerKeyError } from '../../secrets/issuer-keys/issuer-keys.ts'
import { OtherServiceKeyError } from '../../secrets/service-keys.ts'

/** A worker could not start or stop, or ended on its own. */
export class WorkerFailedError extends Error {
  override readonly name = 'WorkerFailedError'
  /** The exit code of a service without workers after the same error. */
  readonly exitCode: number

  constructor(message: string, exitCode: number = EXIT.failure) {
    super(message)
    this.exitCode = exitCode
  }
}

const BY_CODE: Partial<Record<ErrorCode, number>> = {
  VALIDATION_ERROR: EXIT.usage,
  NOT_FOUND: EXIT.notFound,
  IDENTITY_REQUIRED: EXIT.refused,
  FORBIDDEN: EXIT.refused,
  UNAVAILABLE: EXIT.unavailable,
}

/** The exit code of `countersignd` after an error. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof SettingsError || error instanceof OtherPepperError) return EXIT.usage
  if (error instanceof OtherServiceKeyError || error instanceof OtherIssuerKeyError)
    return EXIT.usage
  if (error instanceof OtherBaseUrlError) return EXIT.usage
  if (error instanceof WorkerFailedError) return error.exitCode
  if (error instanceof CodedError) return BY_CODE[error.code] ?? EXIT.failure
  if (error instanceof AlreadyServedError) return EXIT.unavailable
  if (error instanceof NewerSchemaError || error instanceof UnreleasedSchemaError)
    return EXIT.unavailable
  if (error instanceof StorageFailure || isAddressInUse(error)) return EXIT.unavailable
  return EXIT.failure
}

/** The message to print for an error, with its cause if that helps the operator. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause =
    error instanceof StorageFailure && error.cause instanceof Error
      ? ` (${error.cause.message})`
      : ''
  if (isAddressInUse(error))
    return `${error.message}. Set PORT or METRICS_PORT to a free port, or METRICS_PORT=off.`
  if (error instanceof Error && 'code' in error && error.code === 'EADDRNOTAVAIL')
    return `${error.message}. Set HOST to an address of this machine.`
  return error.message + cause
}

function isAddressInUse(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
}
