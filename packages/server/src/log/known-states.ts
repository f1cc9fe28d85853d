import { equalHashes } from '@countersign/protocol'
import type { LogEpochRow } from '../database/schema/log-rows.ts'
import type { TreeEdge } from './tree-edge.ts'

/** A state of a log. */
export type LogState = Pick<LogEpochRow, 'epoch' | 'size' | 'root'>

/**
 * The states of the log that this process may append to at once. Each was found to contain the anchor, or came from such a state by
 * what this process has appended. A database that was rolled back, or to which another node has appended, is in none of them:
 * then changes are queued until the next step of the log has compared it with the anchor.
 */
export class KnownStates {
  #states: readonly LogState[] = []
  #edge: TreeEdge | null = null

  /** Begins with a state that was found to contain the anchor. Does nothing while there is one: that may be ahead. */
  open(state: LogState): void {
    if (this.#states.length === 0) this.#states = [state]
  }

  close(): void {
    this.#states = []
    this.#edge = null
  }

  /** Whether the database is in a known state. If it is not, all are forgotten. */
  confirm(row: LogState): boolean {
    const isKnown = this.#states.some(
      ({ epoch, size, root }) =>
        epoch === row.epoch && size === row.size && equalHashes(root, row.root),
    )
    if (!isKnown) this.close()
    return isKnown
  }

  /**
   * Records what a transaction has appended. Both states count, because it may be rolled back.
   * @param from a known state @param edge of the other one
   */
  advance(from: LogState, to: LogState, edge: TreeEdge): void {
    this.#states = [from, to]
    this.#edge = edge
  }

  /** The edge of a known state, so that it need not be read again. It is given once: the caller appends to it. */
  takeEdge({ size }: LogState): TreeEdge | null {
    const edge = this.#edge
    this.#edge = null
    return edge?.size === size ? edge : null
  }

  /** Forgets states that do not contain the anchor any more. @param size of the anchor */
  forgetBelow(size: number): void {
    this.#states = this.#states.filter((state) => state.size >= size)
  }
}
