import type { AgentRecord } from '../agents/agent-record.ts'
import { findKeyEntry, type LogReadDeps } from './read-log.ts'
import type { ServedLog } from './transparency-log.ts'

/** About 300 bytes each. */
const MAX_KEYS = 50_000

/** The place of an agent's current key in the log. It shows that the key was logged, not that the agent is still active. */
export interface LoggedKey {
  /** The name of the log. */
  readonly origin: string
  /** The index of the entry. */
  readonly index: number
  /** When the newest checkpoint was signed, in milliseconds since the Unix epoch. The entry is under it. */
  readonly checkpointAt: number
  /** Names of the witnesses that have cosigned that checkpoint. */
  readonly cosigners: readonly string[]
}

interface KnownKey extends Pick<ServedLog, 'epoch' | 'size'> {
  readonly keySequence: number
  readonly publicKey: Uint8Array
  /** Null: it is not among the first `size` entries. */
  readonly index: number | null
}

/** Finds the entries of agents' keys under the checkpoint that this node serves. An entry never moves, so it is read once. */
export class LoggedKeys {
  readonly #deps: Pick<LogReadDeps, 'db' | 'log'>
  readonly #keys = new Map<string, KnownKey>()

  constructor(deps: Pick<LogReadDeps, 'db' | 'log'>) {
    this.#deps = deps
  }

  /** @returns null if the current key is not yet under a checkpoint, or the log is halted */
  async find(agent: AgentRecord): Promise<LoggedKey | null> {
    const { served } = this.#deps.log
    if (served === null) return null
    const known = this.#known(agent, served)
    return loggedKeyOf(served, known === undefined ? await this.#read(agent, served) : known)
  }

  /** As `find`, without a query. @returns undefined if one is needed */
  known(agent: AgentRecord): LoggedKey | null | undefined {
    const { served } = this.#deps.log
    if (served === null) return null
    const index = this.#known(agent, served)
    return index === undefined ? undefined : loggedKeyOf(served, index)
  }

  #known(agent: AgentRecord, { epoch, size }: ServedLog): number | null | undefined {
    const known = this.#keys.get(agent.tail)
    if (known === undefined || !isSameKey(known, agent, epoch)) return undefined
    return known.index !== null || known.size >= size ? known.index : undefined
  }

  async #read(agent: AgentRecord, { epoch, size }: ServedLog): Promise<number | null> {
    const { tail, publicKey } = agent
    const { keySequence } = agent.profile
    const known = this.#keys.get(tail)
    const from = known !== undefined && isSameKey(known, agent, epoch) ? known.size : 0
    const of = { epoch, tail, from, to: size }
    const entry = await findKeyEntry(this.#deps.db.read, of, { publicKey, keySequence })
    const index = entry?.position ?? null
    this.#keys.delete(tail)
    this.#keys.set(tail, { epoch, size, keySequence, publicKey, index })
    if (this.#keys.size > MAX_KEYS) {
      const [oldest] = this.#keys.keys()
      if (oldest !== undefined) this.#keys.delete(oldest)
    }
    return index
  }
}

function isSameKey(known: KnownKey, agent: AgentRecord, epoch: number): boolean {
  return (
    known.epoch === epoch &&
    known.keySequence === agent.profile.keySequence &&
    Buffer.compare(known.publicKey, agent.publicKey) === 0
  )
}

function loggedKeyOf(
  { origin, at: checkpointAt, cosigners }: ServedLog,
  index: number | null,
): LoggedKey | null {
  return index === null ? null : { origin, index, checkpointAt, cosigners }
}
