import { AGENT_STATUSES, type Tail } from '@countersign/protocol'
import { type AgentProfile, type AgentRecord, plainProfile } from '../agent-record.ts'
import { AgentColumns } from './agent-columns.ts'
import { SlotHash } from './slot-hash.ts'
import { KEY_WORDS, keyToWords, TAIL_WORDS, tailToWords, wordsToKey, wordsToTail } from './words.ts'

const NONE = -1

/**
 * Agents in memory, found by tail and, while none has been left out, by key. Past its limit it becomes a cache:
 * the clock hand evicts what has not been read, and `complete` stays false.
 */
export class AgentIndex {
  readonly #limit: number
  readonly #columns = new AgentColumns()
  readonly #byTail: SlotHash
  readonly #byKey: SlotHash
  readonly #profiles = new Map<number, AgentProfile>()
  readonly #tailScratch = new Uint32Array(TAIL_WORDS)
  readonly #keyScratch = new Uint32Array(KEY_WORDS)
  #size = 0
  #hand = 0
  #overflowed = false

  /** @param limit how many agents it holds at most */
  constructor(limit: number, randomBytes: (count: number) => Uint8Array) {
    this.#limit = limit
    this.#byTail = new SlotHash(TAIL_WORDS, randomBytes)
    this.#byKey = new SlotHash(KEY_WORDS, randomBytes)
  }

  get size(): number {
    return this.#size
  }

  /** Whether some agent had to be left out: from then on what is not here may still exist. */
  get overflowed(): boolean {
    return this.#overflowed
  }

  /** Makes room for a number of agents, up to the limit. */
  reserve(count: number): void {
    const capacity = Math.min(count, this.#limit)
    if (capacity > this.#columns.capacity) this.#columns.resize(capacity)
    this.#byTail.reserve(this.#columns.tails, capacity)
    this.#byKey.reserve(this.#columns.keys, capacity)
  }

  byTail(tail: Tail): AgentRecord | null {
    const slot = this.#slotOf(tail)
    return slot === NONE ? null : this.#read(slot, tail)
  }

  /**
   * The agent as it stands in the columns, which are read member by member: a look-up of three members costs three
   * reads of memory. Good until the next change of the index; `byTail` gives a copy that lasts.
   */
  peek(tail: Tail): AgentRecord | null {
    const slot = this.#slotOf(tail)
    if (slot === NONE) return null
    // What is read matters only to a choice of what to leave out.
    if (this.#size * 2 > this.#limit) this.#columns.touched[slot] = 1
    return new SlotRecord(tail, slot, this.#columns, this.#profiles)
  }

  /**
   * Of the agents with a key, the one that speaks for it: active before suspended before revoked, then the oldest
   * claim. Meaningless once the index has overflowed.
   */
  byKey(publicKey: Uint8Array): AgentRecord | null {
    keyToWords(publicKey, this.#keyScratch)
    const slot = this.#byKey.find(this.#columns.keys, this.#keyScratch)
    return slot === NONE
      ? null
      : this.#read(slot, wordsToTail(this.#columns.tails, slot * TAIL_WORDS))
  }

  /** Enters an agent, or brings it up to date; an older version than the one here changes nothing. */
  upsert(agent: AgentRecord): void {
    const known = this.#slotOf(agent.tail)
    if (known !== NONE) {
      if ((this.#columns.versions[known] as number) > agent.version) return
      this.#writeChanging(known, agent)
      if (!this.#overflowed) this.#choose(known)
      return
    }
    const slot = this.#freeSlot()
    this.#writeFixed(slot, agent)
    this.#writeChanging(slot, agent)
    this.#byTail.set(this.#columns.tails, slot)
    if (!this.#overflowed) this.#joinRing(slot)
  }

  #slotOf(tail: Tail): number {
    tailToWords(tail, this.#tailScratch)
    return this.#byTail.find(this.#columns.tails, this.#tailScratch)
  }

  #read(slot: number, tail: Tail): AgentRecord {
    this.#columns.touched[slot] = 1
    const { publicKey, ownerId, seq, version, status, claimedAt, profile } = new SlotRecord(
      tail,
      slot,
      this.#columns,
      this.#profiles,
    )
    return { tail, publicKey, ownerId, seq, version, status, claimedAt, profile }
  }

  #writeFixed(slot: number, agent: AgentRecord): void {
    tailToWords(agent.tail, this.#columns.tails, slot * TAIL_WORDS)
    keyToWords(agent.publicKey, this.#columns.keys, slot * KEY_WORDS)
    this.#columns.seqs[slot] = agent.seq
    this.#columns.claimedAt[slot] = agent.claimedAt
    this.#columns.touched[slot] = 0
  }

  #writeChanging(slot: number, agent: AgentRecord): void {
    this.#columns.owners[slot] = agent.ownerId
    this.#columns.versions[slot] = agent.version
    this.#columns.status[slot] = AGENT_STATUSES.indexOf(agent.status)
    if (isPlain(agent)) this.#profiles.delete(slot)
    else this.#profiles.set(slot, agent.profile)
  }

  #freeSlot(): number {
    if (this.#size >= this.#limit) return this.#evict()
    if (this.#size === this.#columns.capacity) {
      this.#columns.resize(Math.min(this.#limit, Math.ceil(this.#size * 1.5)))
    }
    return this.#size++
  }

  /** The clock algorithm: what was read since the hand last passed gets a second chance. */
  #evict(): number {
    this.#overflowed = true
    const { touched, tails } = this.#columns
    while (touched[this.#hand] === 1) {
      touched[this.#hand] = 0
      this.#hand = (this.#hand + 1) % this.#limit
    }
    const slot = this.#hand
    this.#hand = (this.#hand + 1) % this.#limit
    this.#byTail.delete(tails, slot)
    this.#profiles.delete(slot)
    return slot
  }

  #joinRing(slot: number): void {
    const { keys, ring } = this.#columns
    keyToWords(wordsToKey(keys, slot * KEY_WORDS), this.#keyScratch)
    const chosen = this.#byKey.find(keys, this.#keyScratch)
    if (chosen === NONE) {
      ring[slot] = slot
      this.#byKey.set(keys, slot)
      return
    }
    ring[slot] = ring[chosen] as number
    ring[chosen] = slot
    if (this.#speaksBefore(slot, chosen)) this.#byKey.set(keys, slot)
  }

  /** Chooses anew among the agents of one key, after one of them has changed. */
  #choose(changed: number): void {
    const { keys, ring } = this.#columns
    let best = changed
    for (let at = ring[changed] as number; at !== changed; at = ring[at] as number) {
      if (this.#speaksBefore(at, best)) best = at
    }
    this.#byKey.set(keys, best)
  }

  #speaksBefore(a: number, b: number): boolean {
    const { status, seqs } = this.#columns
    if (status[a] !== status[b]) return (status[a] as number) < (status[b] as number)
    return (seqs[a] as number) < (seqs[b] as number)
  }
}

/** An agent in its slot of the columns. */
class SlotRecord implements AgentRecord {
  readonly tail: Tail
  readonly #slot: number
  readonly #columns: AgentColumns
  readonly #profiles: ReadonlyMap<number, AgentProfile>

  constructor(
    tail: Tail,
    slot: number,
    columns: AgentColumns,
    profiles: ReadonlyMap<number, AgentProfile>,
  ) {
    this.tail = tail
    this.#slot = slot
    this.#columns = columns
    this.#profiles = profiles
  }

  get publicKey(): Uint8Array {
    return wordsToKey(this.#columns.keys, this.#slot * KEY_WORDS)
  }

  get ownerId(): number {
    return this.#columns.owners[this.#slot] as number
  }

  get seq(): number {
    return this.#columns.seqs[this.#slot] as number
  }

  get version(): number {
    return this.#columns.versions[this.#slot] as number
  }

  get status(): AgentRecord['status'] {
    return AGENT_STATUSES[this.#columns.status[this.#slot] as number] as AgentRecord['status']
  }

  get claimedAt(): number {
    return this.#columns.claimedAt[this.#slot] as number
  }

  get profile(): AgentProfile {
    return this.#profiles.get(this.#slot) ?? plainProfile(this.claimedAt)
  }
}

function isPlain({ profile, claimedAt }: AgentRecord): boolean {
  return (
    profile.updatedAt === claimedAt &&
    profile.statusChangedAt === claimedAt &&
    profile.statusReason === null &&
    profile.username === null &&
    profile.displayName === null &&
    profile.description === null &&
    profile.channels.length === 0
  )
}
