/**
 * Whose turn it is to write, where several processes of one service share a file. SQLite takes one writer at a time by
 * itself, but calls nobody who waits: they ask again and again, and who comes first is chance (sqlite-begin.ts).
 */
export interface WriterTurn {
  /** Resolves when it is the turn of this process. */
  acquire(): Promise<void>
  /** Gives the turn back; nothing happens where it is not had. @param hasWritten whether there was a commit */
  release(hasWritten: boolean): void
  /** Calls when another of the processes has written. */
  onElsewhere(listener: () => void): void
}

/** The turn of a process that shares its file with none. */
export const ALWAYS: WriterTurn = {
  acquire: async () => undefined,
  release: () => undefined,
  onElsewhere: () => undefined,
}
