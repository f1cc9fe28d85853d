/** A policy or configuration file is invalid. */
export class PolicyError extends Error {
  override readonly name = 'PolicyError'
  /** One message per mistake. */
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(`The gateway cannot start:\n${mistakes.map((each) => `- ${each}`).join('\n')}`)
    this.mistakes = mistakes
  }
}

/** Runs a function. If it throws, adds the error's message to the mistakes and returns null. */
export function collectMistake<T>(mistakes: string[], run: () => T): T | null {
  try {
    return run()
  } catch (error) {
    mistakes.push((error as Error).message)
    return null
  }
}
