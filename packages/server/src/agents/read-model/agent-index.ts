import { isDeepStrictEqual } from 'node:util'
import type { Tail } from '@countersign/protocol'
import { type AgentProfile, type AgentRecord, initialProfile } from '../agent-record.ts'
import { KEY_PRIORITY } from '../agent-table.ts'
import type { PackedAgents } from './agent-pages.ts'
import { AgentSlots, SLOT_WORDS } from './agent-slots.ts'
import type { Revised } from './revision.ts'
import { SlotHash } from './slot-hash.ts'
import { KEY_WORDS, keyToWords, TAIL_WORDS, tailToWords, wordsToKey, wordsToTail } from './words.ts'

const NONE = -1
/** Unused capacity costs address space but no memory. */
const GROWTH = 1.25

/**
 * An in-memory index of agents by tail and, until it overflows, by key. Above its limit it works as a cache: the clock
 * algorithm evicts agents that were not read lately, and `overflowed` stays true.
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

  /** @param limit the maximum number of agents */
  constructor(limit: number, randomBytes: (count: number) => Uint8Array) {
    this.#limit = limit
    this.#slots = new AgentSlots(limit)
    this.#byTail = new SlotHash(this.#slots.words, TAIL_WORDS, SLOT_WORDS, randomBytes)
    this.#byKey = new SlotHash(this.#slots.keys, KEY_WORDS, KEY_WORDS, randomBytes)
  }

  get size(): number {
    return this.#size
  }

  /** Whether an agent was ever evicted. If true, an agent that is not found here may still exist. */
  get overflowed(): boolean {
    return this.#overflowed
  }

  /** Grows the capacity to `count` agents, up to the limit. */
  reserve(count: number): void {
    const capacity = Math.min(count, this.#limit)
    this.#slots.grow(capacity)
    this.#byTail.reserve(capacity)
    this.#byKey.reserve(capacity)
  }

  /** A copy of the agent's record, or null. */
  byTail(tail: Tail): AgentRecord | null {
    const slot = this.#slotOf(tail)
    return slot === NONE ? null : this.#read(slot, tail)
  }

  /**
   * A view of the agent's slot that decodes each member when it is read, so that a response without the key costs no copy of
   * it. The view is valid until the next change of the index. Use `byTail` for a lasting copy.
   */
  peek(tail: Tail): (AgentRecord & Revised) | null {
    const slot = this.#slotOf(tail)
    if (slot === NONE) return null
    // The referenced bit matters only for eviction: below half of the limit, skip the write.
    if (this.#size * 2 > this.#limit) this.#slots.setReferenced(slot, true)
    return new SlotRecord(tail, slot, this.#slots, this.#profiles)
  }

  /**
   * The agent that a lookup by this key returns: the first by `KEY_PRIORITY`, then the oldest claim. Do not call it once the
   * index has overflowed: the result may be wrong.
   */
  byKey(publicKey: Uint8Array): AgentRecord | null {
    keyToWords(publicKey, this.#keyScratch)
    const slot = this.#byKey.find(this.#keyScratch)
    return slot === NONE
      ? null
      : this.#read(slot, wordsToTail(this.#slots.words, slot * SLOT_WORDS))
  }

  /**
   * Inserts or updates an agent, its key included. Ignores a version older than the one in memory, so that a slow read cannot
   * restore a former key or status.
   */
  upsert(agent: AgentRecord): void {
    const known = this.#slotOf(agent.tail)
    if (known === NONE) this.#insert(agent)
    else if (this.#slots.version(known) <= agent.version) this.#update(known, agent)
  }

  /** Inserts those that it does not have. If they do not fit within the limit, it has overflowed. */
  insertMissing({ count, words, keys }: PackedAgents): void {
    for (let i = 0; i < count; i++) {
      if (this.#byTail.find(words, i * SLOT_WORDS) !== NONE) continue
      const slot = this.#freeSlot()
      this.#slots.copy(words, keys, i, slot)
      this.#slots.revise(slot)
      this.#byTail.set(slot)
      if (!this.#overflowed) this.#joinRing(slot)
    }
  }

  /** Gives the agents of an owner another one. Reads every slot: 1,000,000 take a few milliseconds. */
  moveOwner(from: number, to: number): void {
    for (let slot = 0; slot < this.#size; slot++) {
      if (this.#slots.owner(slot) !== from) continue
      this.#slots.setOwner(slot, to)
      this.#slots.revise(slot)
    }
  }

  #insert(agent: AgentRecord): void {
    const slot = this.#freeSlot()
    this.#writeImmutable(slot, agent)
    this.#writeMutable(slot, agent)
    this.#byTail.set(slot)
    if (!this.#overflowed) this.#joinRing(slot)
  }

  #update(slot: number, agent: AgentRecord): void {
    if (this.#hasKey(slot, agent.publicKey)) {
      this.#writeMutable(slot, agent)
      if (!this.#overflowed) this.#selectPreferred(slot)
      return
    }
    if (!this.#overflowed) this.#leaveRing(slot)
    keyToWords(agent.publicKey, this.#slots.keys, slot * KEY_WORDS)
    this.#writeMutable(slot, agent)
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
    this.#slots.setReferenced(slot, true)
    const { publicKey, ownerId, seq, version, status, claimedAt, profile } = new SlotRecord(
      tail,
      slot,
      this.#slots,
      this.#profiles,
    )
    return { tail, publicKey, ownerId, seq, version, status, claimedAt, profile }
  }

  #writeImmutable(slot: number, agent: AgentRecord): void {
    tailToWords(agent.tail, this.#slots.words, slot * SLOT_WORDS)
    keyToWords(agent.publicKey, this.#slots.keys, slot * KEY_WORDS)
    this.#slots.setSeq(slot, agent.seq)
    this.#slots.setClaimedAt(slot, agent.claimedAt)
    this.#slots.setReferenced(slot, false)
  }

  #writeMutable(slot: number, agent: AgentRecord): void {
    this.#slots.setOwner(slot, agent.ownerId)
    this.#slots.setVersion(slot, agent.version)
    this.#slots.setStatus(slot, KEY_PRIORITY.indexOf(agent.status))
    if (isInitial(agent)) this.#profiles.delete(slot)
    else this.#profiles.set(slot, agent.profile)
    this.#slots.revise(slot)
  }

  #freeSlot(): number {
    if (this.#size >= this.#limit) return this.#evict()
    if (this.#size === this.#slots.capacity) this.#slots.grow(Math.ceil(this.#size * GROWTH))
    return this.#size++
  }

  /** Frees a slot by the clock algorithm: agents that were read since the hand last passed get a second chance. */
  #evict(): number {
    this.#overflowed = true
    while (this.#slots.referenced(this.#hand)) {
      this.#slots.setReferenced(this.#hand, false)
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
    const preferred = this.#byKey.set(slot)
    if (preferred === NONE) {
      slots.setRing(slot, slot)
      return
    }
    slots.setRing(slot, slots.ring(preferred))
    slots.setRing(preferred, slot)
    if (!this.#hasPriority(slot, preferred)) this.#byKey.set(preferred)
  }

  /** Removes an agent from the ring and the hash of its key. Call before overwriting the key. */
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
    this.#selectPreferred(next)
  }

  /** Selects the agent that a lookup by the key returns, after one of the agents with that key has changed. */
  #selectPreferred(changed: number): void {
    let best = changed
    for (let at = this.#slots.ring(changed); at !== changed; at = this.#slots.ring(at)) {
      if (this.#hasPriority(at, best)) best = at
    }
    this.#byKey.set(best)
  }

  #hasPriority(a: number, b: number): boolean {
    const slots = this.#slots
    if (slots.status(a) !== slots.status(b)) return slots.status(a) < slots.status(b)
    return slots.seq(a) < slots.seq(b)
  }
}

/** A view of an agent's slot. */
class SlotRecord implements AgentRecord, Revised {
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

  get revision(): number {
    return this.#slots.revision(this.#slot)
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

function isInitial({ profile, claimedAt }: AgentRecord): boolean {
  const mayBe = profile.keySequence === 1 && profile.channels.length === 0
  return mayBe && isDeepStrictEqual(profile, initialProfile(claimedAt))
}
