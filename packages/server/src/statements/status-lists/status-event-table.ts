import { hash } from 'node:crypto'
import type { FeedChange, StatusValue } from '@countersign/protocol'
import type { EventRow } from '../../database/database.ts'

/** The payloads of the events about status lists. */
export interface StatusEventPayload {
  readonly list: number
  readonly idx: number
  /** Of `status.changed` only. */
  readonly status?: StatusValue
}

/** A `status.changed` event: a line of the feed, and the chain after it. */
export interface ChainedLine {
  readonly change: FeedChange
  /** base64url. */
  readonly chain: string
}

/** The line of the feed for a `status.changed` event. */
export function lineOf({ payload }: EventRow): ChainedLine {
  const { n, list, idx, status, chain } = JSON.parse(payload) as FeedChange & { chain: string }
  return { change: { n, list, idx, status }, chain }
}

/**
 * SHA-256 of an event: after a restore or a failover, another event may have the same sequence number. Payloads count for events of
 * status lists only, because those of others are erased with their owner's account. Never publish it: it can be guessed.
 */
export function digestOf(event: EventRow | null): Buffer {
  if (event === null) return hash('sha256', '', 'buffer')
  const { seq, at, type, tail, payload } = event
  const parts = [seq, at, type, tail, type.startsWith('status.') ? payload : null]
  return hash('sha256', JSON.stringify(parts), 'buffer')
}
