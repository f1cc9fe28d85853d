/**
 * A fair lock for write transactions, for processes of one service that share a file. SQLite's own lock does not queue:
 * waiting processes poll, and chance decides which one is next.
 */
export interface WriterTurn {
  /** Resolves when this process may write. */
  acquire(): Promise<void>
  /** Releases the lock, if this process holds it. @param hasWritten whether a transaction was committed */
  release(hasWritten: boolean): void
  /** Calls `listener` when another of the processes has written. */
  onExternalWrite(listener: () => void): void
}

/** For a process that shares its file with no other. */
export const ALWAYS: WriterTurn = {
  acquire: async () => undefined,
  release: () => undefined,
  onExternalWrite: () => undefined,
}
