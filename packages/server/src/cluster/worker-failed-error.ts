/** A worker could not start or stop, or has ended too soon. */
export class WorkerFailedError extends Error {
  override readonly name = 'WorkerFailedError'
  /** What a service without workers would have ended with. */
  readonly exitCode: number

  constructor(message: string, exitCode: number) {
    super(message)
    this.exitCode = exitCode
  }
}
