import { CodedError, DISPLAY_NAME_PATTERN, requireUsername } from '@countersign/protocol'

/**
 * What the form of a username leaves to be desired; whether it is free, only the service knows.
 * @param shortName of the service, which nobody may be called
 * @returns a sentence, or null where nothing is wrong
 */
export function whatIsWrongWithUsername(username: string, shortName: string): string | null {
  try {
    requireUsername({ shortName }, username)
    return null
  } catch (error) {
    if (error instanceof CodedError) return error.message
    throw error
  }
}

/** @returns a sentence, or null where nothing is wrong */
export function whatIsWrongWithDisplayName(name: string): string | null {
  if (DISPLAY_NAME_PATTERN.test(name)) return null
  return name.trim() === ''
    ? 'Enter a name, so that others know whom they deal with.'
    : 'A name has at most 64 characters, and none that cannot be seen.'
}
