import { KEY_WORDS, TAIL_WORDS } from './words.ts'

const FIRST_CAPACITY = 1024

/** Agents as columns of typed arrays, 90 bytes a slot: a million of them are no work for the garbage collector. */
export class AgentColumns {
  capacity = 0
  tails = new Uint32Array(0)
  keys = new Uint32Array(0)
  owners = new Uint32Array(0)
  seqs = new Float64Array(0)
  versions = new Float64Array(0)
  claimedAt = new Float64Array(0)
  status = new Uint8Array(0)
  /** Another slot with the same key: a ring, so that any of them leads to all. */
  ring = new Int32Array(0)
  /** Whether the slot was read since the clock hand last passed. */
  touched = new Uint8Array(0)

  constructor() {
    this.resize(FIRST_CAPACITY)
  }

  resize(capacity: number): void {
    this.capacity = capacity
    this.tails = grown(this.tails, new Uint32Array(capacity * TAIL_WORDS))
    this.keys = grown(this.keys, new Uint32Array(capacity * KEY_WORDS))
    this.owners = grown(this.owners, new Uint32Array(capacity))
    this.seqs = grown(this.seqs, new Float64Array(capacity))
    this.versions = grown(this.versions, new Float64Array(capacity))
    this.claimedAt = grown(this.claimedAt, new Float64Array(capacity))
    this.status = grown(this.status, new Uint8Array(capacity))
    this.ring = grown(this.ring, new Int32Array(capacity))
    this.touched = grown(this.touched, new Uint8Array(capacity))
  }
}

function grown<T extends Uint32Array | Float64Array | Uint8Array | Int32Array>(
  old: T,
  fresh: T,
): T {
  fresh.set(old)
  return fresh
}
