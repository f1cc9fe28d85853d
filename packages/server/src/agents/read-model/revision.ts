/** Greatest number that fits beside one bit in 32. */
const LAST = 2 ** 31 - 1

/** Data in memory that may change. */
export interface Revised {
  readonly revision: number
}

let last = 0

/**
 * A number for the data that was just written to memory. No other data of this process has it, so that two equal revisions
 * mean equal data, also across a reset. Starts again after two billion writes.
 */
export function nextRevision(): number {
  last = last === LAST ? 1 : last + 1
  return last
}
