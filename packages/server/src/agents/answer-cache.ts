import type { Tail } from '@countersign/protocol'
import type { PlainAnswer } from '../http/plain-answers.ts'
import type { AgentView } from './agent-record.ts'
import { CHANGE_SHOWN_MS } from './card.ts'
import type { ReadDeps } from './find-agent.ts'
import type { RevisedView } from './read-model/agent-read-model.ts'

/** About 10,000 agents with a card and a DID document each. */
const MAX_BYTES = 32 * 1024 * 1024
/** Of an answer in memory, beside its body. */
const OVERHEAD = 500

interface Built {
  readonly agentRevision: number
  readonly ownerRevision: number
  /** Milliseconds since 1970: from and before which the answers are true. */
  readonly from: number
  readonly until: number
  /** By the function that builds them; null: the router has to answer. */
  readonly answers: Map<BuildAnswer, PlainAnswer | null>
}

/**
 * @param now milliseconds since 1970
 * @returns null for what the router has to answer
 */
export type BuildAnswer = (view: AgentView, now: number) => PlainAnswer | null

/**
 * Answers about agents in memory, each built once for each change of the agent or its owner. If they take more than 32 MiB, those
 * go whose agents were asked for first.
 */
export class AnswerCache {
  readonly #read: ReadDeps
  readonly #known = new Map<Tail, Built>()
  #bytes = 0

  constructor(read: ReadDeps) {
    this.#read = read
  }

  /** Null for an agent that is not in memory, or while the read model is stale. */
  get(tail: Tail, build: BuildAnswer): PlainAnswer | null {
    const view = this.#read.readModel.inMemory(tail)
    if (view === null) return null
    const now = this.#read.now()
    let built = this.#known.get(tail)
    if (built === undefined || !isTrue(built, view, now)) {
      this.#delete(tail)
      built = {
        agentRevision: view.agent.revision,
        ownerRevision: view.owner.revision,
        from: now,
        until: unchangedUntil(view, now),
        answers: new Map(),
      }
      this.#known.set(tail, built)
    }
    const known = built.answers.get(build)
    if (known !== undefined) return known
    const answer = build(view, now)
    built.answers.set(build, answer)
    this.#bytes += sizeOf(answer)
    this.#makeRoom()
    return answer
  }

  #makeRoom(): void {
    for (const tail of this.#known.keys()) {
      if (this.#bytes <= MAX_BYTES) return
      this.#delete(tail)
    }
  }

  #delete(tail: Tail): void {
    const built = this.#known.get(tail)
    if (built === undefined) return
    for (const answer of built.answers.values()) this.#bytes -= sizeOf(answer)
    this.#known.delete(tail)
  }
}

function isTrue(built: Built, { agent, owner }: RevisedView, now: number): boolean {
  return (
    built.agentRevision === agent.revision &&
    built.ownerRevision === owner.revision &&
    built.from <= now &&
    now < built.until
  )
}

/** When time alone changes what is shown of an agent: verifications and channels expire, and a change of name is no longer shown. */
function unchangedUntil({ agent, owner }: AgentView, now: number): number {
  const { nameChangedAt } = owner
  const ends = [
    ...owner.verifications.map(({ expiresAt }) => expiresAt),
    ...agent.profile.channels.map(({ freshUntil }) => freshUntil),
    nameChangedAt === null ? null : nameChangedAt + CHANGE_SHOWN_MS,
  ]
  return ends.reduce<number>(
    (first, end) => (end !== null && end > now ? Math.min(first, end) : first),
    Number.POSITIVE_INFINITY,
  )
}

function sizeOf(answer: PlainAnswer | null): number {
  return (answer?.length ?? 0) + OVERHEAD
}
