import {
  type AgentEntry,
  decodeKey,
  encodeBase64,
  encodeBase64Url,
  keyThumbprint,
} from '@countersign/protocol'
import type { WatchState } from './log-state.ts'
import type { EntryWatcher, SeenEntry } from './verify-log.ts'

/** What is posted to the webhook. `text` is for people, and for chat systems that show it. */
export interface Alert {
  /** The same for the same event: it may be delivered more than once. */
  readonly id: string
  readonly type: 'agent.unexpected_entry' | 'log.fault' | 'log.unavailable'
  readonly text: string
  readonly [member: string]: unknown
}

/** Key entries that the owner's account or the service causes, without a signature by a key of the agent. */
const UNSIGNED = ['key_recovery_started', 'key_recovered', 'key_contested']

/** Finds entries about an owner's agents that no key of theirs has signed. */
export class OwnerMonitor implements EntryWatcher {
  readonly #keys = new Map<string, Set<string>>()
  readonly #alerts: object[]
  readonly #origin: string
  readonly #onLearned: (did: string, key: string) => void
  /** Entries about these agents were seen before. */
  readonly #watchedBefore: ReadonlySet<string>
  readonly #seenBelow: number

  /**
   * @param options `ownKeys`: thumbprints of the owner's keys; with none, the first key of each agent in the log is trusted.
   *   `seenBelow`: the size of the log that was seen before
   */
  constructor(options: {
    readonly origin: string
    readonly dids: readonly string[]
    readonly ownKeys: readonly string[]
    readonly before: WatchState | null
    readonly seenBelow: number
    readonly onLearned: (did: string, key: string) => void
  }) {
    const { dids, ownKeys, before } = options
    for (const did of dids) this.#keys.set(did, new Set([...(before?.keys[did] ?? []), ...ownKeys]))
    this.#alerts = [...(before?.alerts ?? [])]
    this.#origin = options.origin
    this.#onLearned = options.onLearned
    this.#watchedBefore = new Set(Object.keys(before?.keys ?? {}))
    this.#seenBelow = options.seenBelow
  }

  get state(): WatchState {
    const keys = Object.fromEntries([...this.#keys].map(([did, each]) => [did, [...each]]))
    return { keys, alerts: this.#alerts }
  }

  see(seen: SeenEntry): void {
    const { entry, index } = seen
    const own = this.#keys.get(entry.did)
    if (own === undefined) return
    if (index < this.#seenBelow && this.#watchedBefore.has(entry.did)) return
    if (own.size === 0) {
      own.add(entry.key)
      this.#onLearned(entry.did, entry.key)
    }
    const why = unexpected(seen, own)
    if (why === null) own.add(entry.key)
    else this.#alerts.push(this.#alertOf(seen, why))
  }

  #alertOf({ entry, index, leaf }: SeenEntry, why: string): Alert {
    const text = `Agent ${entry.did}: entry ${index} (${entry.type}) of the transparency log ${this.#origin} ${why}. If this was not you, revoke the agent and contact the operator.`
    return {
      id: encodeBase64Url(leaf),
      type: 'agent.unexpected_entry',
      text,
      did: entry.did,
      origin: this.#origin,
      index,
      leaf: encodeBase64(leaf),
      reason: why,
      entry,
    }
  }
}

/** @returns why nobody with a key of the owner can have caused the entry; null: it is as expected */
function unexpected({ entry, known, fault }: SeenEntry, own: ReadonlySet<string>): string | null {
  if (fault !== null) return fault
  if (entry.type === 'key_rotated') {
    return own.has(oldKeyOf(entry)) ? null : 'rotates a key that is not one of yours'
  }
  if (UNSIGNED.includes(entry.type)) return 'was not signed by a key of the agent'
  if (entry.type === 'key_recovery_vetoed' && entry.by !== 'agent') {
    return 'was not signed by a key of the agent'
  }
  const isClaim = known === null || entry.type === 'claimed' || entry.type === 'existing'
  const isOtherKey = known === null || encodeBase64Url(known.key) !== entry.key
  if ((isClaim || isOtherKey) && !own.has(entry.key)) return 'has a key that is not one of yours'
  return null
}

/** The signatures were verified, so the member is well-formed. */
function oldKeyOf(entry: Extract<AgentEntry, { type: 'key_rotated' }>): string {
  return keyThumbprint(decodeKey(entry.prevKey) ?? new Uint8Array(32))
}
