/** What has to be undone when the bench ends, however it ends: processes and directories. */
export class Scope {
  readonly #undo: (() => unknown)[] = []
  #ended = false

  /**
   * @returns undoes it now, and not again at the end
   * @throws Error where the end has come already: nothing is begun any more
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

  /** The last first. */
  async end(): Promise<void> {
    this.#ended = true
    for (let undo = this.#undo.pop(); undo !== undefined; undo = this.#undo.pop()) await undo()
  }
}
