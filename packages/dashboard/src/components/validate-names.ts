import {
  CodedError,
  claimIn,
  DISPLAY_NAME_PATTERN,
  imitationIn,
  nameImitationIn,
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
  if (DISPLAY_NAME_PATTERN.test(name)) return imitationError(nameImitationIn(name))
  return name.trim() === '' ? 'Enter a name.' : 'Use at most 64 characters, without invisible ones.'
}

/** @returns the mistake as a sentence; null if there is none */
export function descriptionImitation(text: string): string | null {
  const claim = claimIn(text)
  return imitationError(imitationIn(text) ?? (claim && `the word “${claim}”`))
}

function imitationError(found: string | null): string | null {
  return found === null
    ? null
    : `Remove the ${found}. People could mistake them for a verification.`
}
