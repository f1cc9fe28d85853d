import type { Tail } from '@countersign/protocol'
import { type AgentProfile, type AgentRecord, initialProfile } from '../agent-record.ts'
import { KEY_PRIORITY } from '../agent-table.ts'
import { AgentSlots, SLOT_WORDS } from './agent-slots.ts'
import { SlotHash } from './slot-hash.ts'
import { KEY_WORDS, keyToWords, TAIL_WORDS, tailToWords, wordsToKey, wordsToTail } from './words.ts'

const NONE = -1
/** Growing costs next to nothing: room that is not used is no memory yet. */
const GROWTH = 1.25

/**
 * Agents in memory, found by tail and, while none has been left out, by key. Past its limit it becomes a cache:
 * the clock hand evicts what has not been read, and `complete` stays false.
 */
export class AgentIndex {
  readonly #limit: number
  readonly #slots: AgentSlots
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
    this.#slots = new AgentSlots(limit)
    this.#byTail = new SlotHash(this.#slots.words, TAIL_WORDS, SLOT_WORDS, randomBytes)
    this.#byKey = new SlotHash(this.#slots.keys, KEY_WORDS, KEY_WORDS, randomBytes)
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
    this.#slots.grow(capacity)
    this.#byTail.reserve(capacity)
    this.#byKey.reserve(capacity)
  }

  byTail(tail: Tail): AgentRecord | null {
    const slot = this.#slotOf(tail)
    return slot === NONE ? null : this.#read(slot, tail)
  }

  /**
   * The agent as it stands in its slot, read member by member: an answer that needs no key does not fetch one. Good until the next change of the index; `byTail` gives a copy that lasts.
   */
  peek(tail: Tail): AgentRecord | null {
    const slot = this.#slotOf(tail)
    if (slot === NONE) return null
    // What is read matters only to a choice of what to leave out.
    if (this.#size * 2 > this.#limit) this.#slots.setTouched(slot, true)
    return new SlotRecord(tail, slot, this.#slots, this.#profiles)
  }

  /**
   * The agent that a lookup by this current key answers for, by `KEY_PRIORITY` and then by age. Meaningless once the
   * index has overflowed.
   */
  byKey(publicKey: Uint8Array): AgentRecord | null {
    keyToWords(publicKey, this.#keyScratch)
    const slot = this.#byKey.find(this.#keyScratch)
    return slot === NONE
      ? null
      : this.#read(slot, wordsToTail(this.#slots.words, slot * SLOT_WORDS))
  }

  /**
   * Inserts or updates an agent, its key included. An older version than the one in memory changes nothing: a slow read
   * must not bring a former key or status back.
   */
  upsert(agent: AgentRecord): void {
    const known = this.#slotOf(agent.tail)
    if (known === NONE) this.#insert(agent)
    else if (this.#slots.version(known) <= agent.version) this.#update(known, agent)
  }

  #insert(agent: AgentRecord): void {
    const slot = this.#freeSlot()
    this.#writeFixed(slot, agent)
    this.#writeChanging(slot, agent)
    this.#byTail.set(slot)
    if (!this.#overflowed) this.#joinRing(slot)
  }

  #update(slot: number, agent: AgentRecord): void {
    if (this.#hasKey(slot, agent.publicKey)) {
      this.#writeChanging(slot, agent)
      if (!this.#overflowed) this.#choose(slot)
      return
    }
    if (!this.#overflowed) this.#leaveRing(slot)
    keyToWords(agent.publicKey, this.#slots.keys, slot * KEY_WORDS)
    this.#writeChanging(slot, agent)
    if (!this.#overflowed) this.#joinRing(slot)
  }

  #hasKey(slot: number, publicKey: Uint8Array): boolean {
    const { keys } = this.#slots
    keyToWords(publicKey, this.#keyScratch)
    return this.#keyScratch.every((word, i) => keys[slot * KEY_WORDS + i] === word)
  }

  #slotOf(tail: Tail): number {
    tailToWords(tail, this.#tailScratch)
    return this.#byTail.find(this.#tailScratch)
  }

  #read(slot: number, tail: Tail): AgentRecord {
    this.#slots.setTouched(slot, true)
    const { publicKey, ownerId, seq, version, status, claimedAt, profile } = new SlotRecord(
      tail,
      slot,
      this.#slots,
      this.#profiles,
    )
    return { tail, publicKey, ownerId, seq, version, status, claimedAt, profile }
  }

  #writeFixed(slot: number, agent: AgentRecord): void {
    tailToWords(agent.tail, this.#slots.words, slot * SLOT_WORDS)
    keyToWords(agent.publicKey, this.#slots.keys, slot * KEY_WORDS)
    this.#slots.setSeq(slot, agent.seq)
    this.#slots.setClaimedAt(slot, agent.claimedAt)
    this.#slots.setTouched(slot, false)
  }

  #writeChanging(slot: number, agent: AgentRecord): void {
    this.#slots.setOwner(slot, agent.ownerId)
    this.#slots.setVersion(slot, agent.version)
    this.#slots.setStatus(slot, KEY_PRIORITY.indexOf(agent.status))
    if (isPlain(agent)) this.#profiles.delete(slot)
    else this.#profiles.set(slot, agent.profile)
  }

  #freeSlot(): number {
    if (this.#size >= this.#limit) return this.#evict()
    if (this.#size === this.#slots.capacity) this.#slots.grow(Math.ceil(this.#size * GROWTH))
    return this.#size++
  }

  /** The clock algorithm: what was read since the hand last passed gets a second chance. */
  #evict(): number {
    this.#overflowed = true
    while (this.#slots.touched(this.#hand)) {
      this.#slots.setTouched(this.#hand, false)
      this.#hand = (this.#hand + 1) % this.#limit
    }
    const slot = this.#hand
    this.#hand = (this.#hand + 1) % this.#limit
    this.#byTail.delete(slot)
    this.#profiles.delete(slot)
    return slot
  }

  #joinRing(slot: number): void {
    const slots = this.#slots
    const chosen = this.#byKey.set(slot)
    if (chosen === NONE) {
      slots.setRing(slot, slot)
      return
    }
    slots.setRing(slot, slots.ring(chosen))
    slots.setRing(chosen, slot)
    if (!this.#speaksBefore(slot, chosen)) this.#byKey.set(chosen)
  }

  /** Takes an agent out of the ring of its key and out of the hash. Call it before another key is written. */
  #leaveRing(slot: number): void {
    const slots = this.#slots
    const next = slots.ring(slot)
    if (next === slot) {
      this.#byKey.delete(slot)
      return
    }
    let previous = next
    while (slots.ring(previous) !== slot) previous = slots.ring(previous)
    slots.setRing(previous, next)
    this.#choose(next)
  }

  /** Chooses anew among the agents of one key, after one of them has changed. */
  #choose(changed: number): void {
    let best = changed
    for (let at = this.#slots.ring(changed); at !== changed; at = this.#slots.ring(at)) {
      if (this.#speaksBefore(at, best)) best = at
    }
    this.#byKey.set(best)
  }

  #speaksBefore(a: number, b: number): boolean {
    const slots = this.#slots
    if (slots.status(a) !== slots.status(b)) return slots.status(a) < slots.status(b)
    return slots.seq(a) < slots.seq(b)
  }
}

/** An agent in its slot. */
class SlotRecord implements AgentRecord {
  readonly tail: Tail
  readonly #slot: number
  readonly #slots: AgentSlots
  readonly #profiles: ReadonlyMap<number, AgentProfile>

  constructor(
    tail: Tail,
    slot: number,
    slots: AgentSlots,
    profiles: ReadonlyMap<number, AgentProfile>,
  ) {
    this.tail = tail
    this.#slot = slot
    this.#slots = slots
    this.#profiles = profiles
  }

  get publicKey(): Uint8Array {
    return wordsToKey(this.#slots.keys, this.#slot * KEY_WORDS)
  }

  get ownerId(): number {
    return this.#slots.owner(this.#slot)
  }

  get seq(): number {
    return this.#slots.seq(this.#slot)
  }

  get version(): number {
    return this.#slots.version(this.#slot)
  }

  get status(): AgentRecord['status'] {
    return KEY_PRIORITY[this.#slots.status(this.#slot)] as AgentRecord['status']
  }

  get claimedAt(): number {
    return this.#slots.claimedAt(this.#slot)
  }

  get profile(): AgentProfile {
    return this.#profiles.get(this.#slot) ?? initialProfile(this.claimedAt)
  }
}

function isPlain({ profile, claimedAt }: AgentRecord): boolean {
  return (
    profile.keySequence === 1 &&
    profile.keyChangedAt === claimedAt &&
    profile.updatedAt === claimedAt &&
    profile.statusChangedAt === claimedAt &&
    profile.statusReason === null &&
    profile.username === null &&
    profile.displayName === null &&
    profile.description === null &&
    profile.avatar === null &&
    profile.channels.length === 0
  )
}
