import { CodedError, type Did, type Tail } from '@countersign/protocol'
import { agentEventsAfter } from '../agent-management/agent-event-table.ts'
import { agentByTail } from '../agents/agent-table.ts'
import type { AgentReadModel } from '../agents/read-model/agent-read-model.ts'
import type { EventRow } from '../core/database/database.ts'
import type { CoreDeps } from '../core/deps.ts'
import { didOfAgent } from '../core/site.ts'
import { timestamp } from '../core/timestamp.ts'

/** So many pages of one owner may follow at once. */
const MOST_FOLLOWERS = 20
/** Somebody has to close a page before there is room. */
const RETRY_AFTER_SECONDS = 5
/** Whoever has missed more asks for the list of agents anyway. */
const MOST_MISSED = 500

export interface BroadcasterDeps extends Pick<CoreDeps, 'db' | 'site' | 'now'> {
  readonly readModel: AgentReadModel
}

/** Something that happened to an agent, for its owner. */
interface AgentEventNotice {
  readonly seq: number
  readonly type: string
  /** What the page gets: the DID, the type, the time, and of a claim the label. */
  readonly data: Readonly<Record<string, string>>
}

/** Whom notices are for. */
export interface EventSink {
  send(notice: AgentEventNotice): void
  /** The events can no longer be told. */
  end(): void
}

/** Who follows what happens to their agents. */
export class AgentEventBroadcaster {
  readonly #deps: BroadcasterDeps
  readonly #byOwner = new Map<number, Set<Follower>>()

  constructor(deps: BroadcasterDeps) {
    this.#deps = deps
    deps.readModel.onApplied((events) => this.#tell(events))
  }

  /**
   * Tells an owner of what happens to their agents, each event once and in order, whoever causes it.
   * @param after the last event that the owner has seen: what came since is told first; null: begin now
   * @returns which event comes before all that will be told, and how to stop
   * @throws CodedError UNAVAILABLE where too many follow for the same owner
   */
  follow(
    ownerId: number,
    after: number | null,
    sink: EventSink,
  ): { readonly from: number; stop(): void } {
    const { db, readModel } = this.#deps
    const followers = this.#byOwner.get(ownerId) ?? new Set()
    if (followers.size >= MOST_FOLLOWERS) {
      throw new CodedError(
        'UNAVAILABLE',
        'Too many pages of this account are open. Close some, and try again.',
        { retryAfterSeconds: RETRY_AFTER_SECONDS },
      )
    }
    const from = Math.min(after ?? readModel.position, readModel.position)
    const follower = new Follower(this.#deps, from, sink)
    this.#byOwner.set(ownerId, followers.add(follower))
    if (after !== null) follower.take(agentEventsAfter(db.read, ownerId, from, MOST_MISSED))
    return {
      from,
      stop: () => {
        followers.delete(follower)
        if (followers.size === 0) this.#byOwner.delete(ownerId)
      },
    }
  }

  #tell(events: readonly EventRow[]): void {
    if (this.#byOwner.size === 0) return
    for (const event of events) {
      const followers = this.#byOwner.get(event.owner_id ?? 0)
      if (followers === undefined || event.tail === null) continue
      for (const each of followers) each.take([event])
    }
  }
}

/** Takes events as they come and passes them on one after another. */
class Follower {
  readonly #deps: BroadcasterDeps
  readonly #sink: EventSink
  #last: number
  #work: Promise<void> = Promise.resolve()

  constructor(deps: BroadcasterDeps, last: number, sink: EventSink) {
    this.#deps = deps
    this.#last = last
    this.#sink = sink
  }

  take(events: readonly EventRow[] | Promise<readonly EventRow[]>): void {
    this.#work = this.#work.then(() => this.#pass(events)).catch(() => this.#sink.end())
  }

  async #pass(events: readonly EventRow[] | Promise<readonly EventRow[]>): Promise<void> {
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
