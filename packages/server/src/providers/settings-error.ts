/** Settings of providers that cannot be used, every mistake at once. The values are not in it: one could be a secret. */
export class ProviderSettingsError extends Error {
  override readonly name = 'ProviderSettingsError'
  /** Each names its place. */
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'))
    this.mistakes = mistakes
  }
}
