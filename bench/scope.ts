/** Cleans up processes and directories whenever and however the bench ends. */
export class Scope {
  readonly #undo: (() => unknown)[] = []
  #ended = false

  /**
   * @returns a function that cleans up now instead of at the end
   * @throws Error if the bench is already ending, so that nothing new is started
   */
  defer(undo: () => unknown): () => Promise<void> {
    if (this.#ended) {
      undo()
      throw new Error('the bench was told to stop')
    }
    this.#undo.push(undo)
    return async () => {
      const at = this.#undo.indexOf(undo)
      if (at < 0) return
      this.#undo.splice(at, 1)
      await undo()
    }
  }

  /** In reverse order of registration. */
  async end(): Promise<void> {
    this.#ended = true
    for (let undo = this.#undo.pop(); undo !== undefined; undo = this.#undo.pop()) await undo()
  }
}
