import { CodedError, type Did, type Tail } from '@countersign/protocol'
import { agentByTail, ownsAgents } from '../../agents/agent-table.ts'
import { agentEventsAfter } from '../../agents/manage/agent-event-table.ts'
import type { AgentReadModel } from '../../agents/read-model/agent-read-model.ts'
import { didOfAgent } from '../../base/site.ts'
import { timestamp } from '../../base/timestamp.ts'
import type { EventRow } from '../../database/database.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'

/** Concurrent subscriptions of one owner. */
const MAX_SUBSCRIPTIONS = 20
/** Long enough for the owner to close another page. */
const RETRY_AFTER_SECONDS = 5
/** Missed events replayed at most. The dashboard reloads its data when it reconnects. */
const MAX_REPLAYED = 500

export interface BroadcasterDeps extends Pick<CoreDeps, 'db' | 'site' | 'now'> {
  readonly readModel: AgentReadModel
}

/** An event of an agent, for its owner. */
interface AgentEventNotice {
  readonly seq: number
  readonly type: string
  /** The DID, the type, the time, and for a claim the agent's label. */
  readonly data: Readonly<Record<string, string>>
}

/** Receives a subscription's events. */
export interface EventSink {
  send(notice: AgentEventNotice): void
  /** Called if reading the events fails. */
  end(): void
}

/** Passes the events of agents on to their owners' subscriptions. */
export class AgentEventBroadcaster {
  readonly #deps: BroadcasterDeps
  readonly #byOwner = new Map<number, Set<Subscription>>()

  constructor(deps: BroadcasterDeps) {
    this.#deps = deps
    deps.readModel.onApplied((events) => this.#publish(events))
  }

  /** Whether the owner has ever claimed an agent. */
  hasAgents(ownerId: number): Promise<boolean> {
    return ownsAgents(this.#deps.db.read, ownerId)
  }

  /**
   * Subscribes to the events of an owner's agents. Each event arrives once and in order.
   * @param after the `seq` of the last event seen; later ones are replayed first. Null: only new events
   * @returns `from`: the `seq` after which events arrive; `stop`: ends the subscription
   * @throws CodedError UNAVAILABLE if the owner has too many subscriptions
   */
  subscribe(
    ownerId: number,
    after: number | null,
    sink: EventSink,
  ): { readonly from: number; stop(): void } {
    const { db, readModel } = this.#deps
    const subscriptions = this.#byOwner.get(ownerId) ?? new Set()
    if (subscriptions.size >= MAX_SUBSCRIPTIONS) {
      throw new CodedError(
        'UNAVAILABLE',
        'Too many pages of this account are open. Close some, and try again.',
        { retryAfterSeconds: RETRY_AFTER_SECONDS },
      )
    }
    const from = Math.min(after ?? readModel.position, readModel.position)
    const subscription = new Subscription(this.#deps, from, sink)
    this.#byOwner.set(ownerId, subscriptions.add(subscription))
    if (after !== null) subscription.enqueue(agentEventsAfter(db.read, ownerId, from, MAX_REPLAYED))
    return {
      from,
      stop: () => {
        subscriptions.delete(subscription)
        if (subscriptions.size === 0) this.#byOwner.delete(ownerId)
      },
    }
  }

  #publish(events: readonly EventRow[]): void {
    if (this.#byOwner.size === 0) return
    for (const event of events) {
      const subscriptions = this.#byOwner.get(event.owner_id ?? 0)
      if (subscriptions === undefined || event.tail === null) continue
      for (const each of subscriptions) each.enqueue([event])
    }
  }
}

/** Delivers events to one sink in order, one after another. */
class Subscription {
  readonly #deps: BroadcasterDeps
  readonly #sink: EventSink
  #last: number
  #queue: Promise<void> = Promise.resolve()

  constructor(deps: BroadcasterDeps, last: number, sink: EventSink) {
    this.#deps = deps
    this.#last = last
    this.#sink = sink
  }

  enqueue(events: readonly EventRow[] | Promise<readonly EventRow[]>): void {
    this.#queue = this.#queue.then(() => this.#deliver(events)).catch(() => this.#sink.end())
  }

  async #deliver(events: readonly EventRow[] | Promise<readonly EventRow[]>): Promise<void> {
    for (const event of await events) {
      if (event.seq <= this.#last) continue
      this.#last = event.seq
      this.#sink.send(await describe(this.#deps, event))
    }
  }
}

async function describe({ db, site }: BroadcasterDeps, event: EventRow): Promise<AgentEventNotice> {
  const { seq, type, at } = event
  const tail = event.tail as Tail
  const did: Did = didOfAgent(site, tail)
  const data = { [site.naming.didField]: did, type, at: timestamp(at) }
  if (type !== 'agent.claimed') return { seq, type, data }
  const row = await agentByTail(db.read, tail)
  return { seq, type, data: { ...data, agentId: row?.agent_id ?? '' } }
}
