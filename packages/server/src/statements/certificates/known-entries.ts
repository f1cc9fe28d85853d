import type { AgentView } from '../../agents/agent-record.ts'
import {
  type CertifiedContent,
  certifiedContentOf,
  isSameContent,
} from '../../agents/changes/certified-content.ts'
import type { Database } from '../../database/database.ts'
import { entryFor, type StatusReference } from '../status-lists/status-entries.ts'
import type { StatusState } from '../status-lists/status-state.ts'

/** About 300 bytes each. */
const MAX_ENTRIES = 50_000

export interface EntryDeps {
  readonly db: Database
  readonly now: () => number
  readonly statusState: StatusState
}

interface KnownEntry {
  readonly content: CertifiedContent
  readonly entry: StatusReference
}

/**
 * The status entries of agents whose certificates were asked for lately. One is used again without a query as long as the
 * status list that this node publishes says that it is valid: a certificate with it is worth what the list says.
 */
export class KnownEntries {
  readonly #deps: EntryDeps
  readonly #entries = new Map<string, KnownEntry>()

  constructor(deps: EntryDeps) {
    this.#deps = deps
  }

  /** The entry if no query is needed; null otherwise. @throws what `StatusState.lists` throws */
  known(view: AgentView): StatusReference | null {
    const known = this.#entries.get(view.agent.tail)
    if (known === undefined) return null
    const isSame = isSameContent(known.content, certifiedContentOf(view, this.#deps.now()))
    return isSame && this.#isValid(known.entry) ? known.entry : null
  }

  /** @throws what `entryFor` throws, and what `StatusState.lists` throws */
  async entryFor(view: AgentView): Promise<StatusReference> {
    const known = this.known(view)
    if (known !== null) return known
    const { tail } = view.agent
    const content = certifiedContentOf(view, this.#deps.now())
    const entry = await entryFor(this.#deps, view)
    this.#entries.delete(tail)
    this.#entries.set(tail, { content, entry })
    if (this.#entries.size > MAX_ENTRIES) {
      const [oldest] = this.#entries.keys()
      if (oldest !== undefined) this.#entries.delete(oldest)
    }
    return entry
  }

  #isValid({ list, idx }: StatusReference): boolean {
    return this.#deps.statusState.lists.valueAt(list, idx) === 0
  }
}
