import {
  CodedError,
  DISPLAY_NAME_PATTERN,
  imitationIn,
  requireUsername,
} from '@countersign/protocol'

/**
 * Checks the format of a username. Only the service knows whether it is available.
 * @param shortName the deployment's short name, which is reserved
 * @returns the mistake as a sentence; null if there is none
 */
export function usernameError(username: string, shortName: string): string | null {
  try {
    requireUsername({ shortName }, username)
    return null
  } catch (error) {
    if (error instanceof CodedError) return error.message
    throw error
  }
}

/** @returns the mistake as a sentence; null if there is none */
export function displayNameError(name: string): string | null {
  if (DISPLAY_NAME_PATTERN.test(name)) return imitationError(name)
  return name.trim() === '' ? 'Enter a name.' : 'Use at most 64 characters, without invisible ones.'
}

/** @returns a sentence if the text contains check marks, seals or invisible characters; else null */
export function imitationError(text: string): string | null {
  const found = imitationIn(text)
  return found === null
    ? null
    : `Remove the ${found}. People could mistake them for a verification.`
}
