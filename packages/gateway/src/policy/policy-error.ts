/** A policy, or the file it is in, cannot be read. */
export class PolicyError extends Error {
  override readonly name = 'PolicyError'
  /** Every one of them. */
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(`The gateway cannot start:\n${mistakes.map((each) => `- ${each}`).join('\n')}`)
    this.mistakes = mistakes
  }
}
