/** Connections for reading, and how many reads wait for one. */
export interface ConnectionFigures {
  readonly busy: number
  readonly idle: number
  readonly waiting: number
}

/** What became of a transaction and of the writes that it carried. */
export interface TransactionEnd {
  /** `undone`: there was nothing left to commit. */
  readonly end: 'committed' | 'undone' | 'failed' | 'unknown'
  readonly writes: number
  /** How many of the writes threw, and undid themselves. */
  readonly undone: number
  /** From its beginning, a wait for its turn among processes included, to its being durable. */
  readonly seconds: number
}
