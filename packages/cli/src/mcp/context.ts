import type { AgentKey } from '../agent-key.ts'
import type { IssuedChallenges } from './issued-challenges.ts'

/** What the tools work on: the operator's settings, read once; nothing of it comes from the model. */
export interface McpContext {
  readonly service: URL
  /**
   * The agent's key, read anew each time.
   * @throws Failure NO_KEY, UNUSABLE_KEY
   */
  ownKey(): AgentKey
  /** The same, and a new one where there is none yet. */
  ownOrNewKey(): { readonly key: AgentKey; readonly isNew: boolean }
  /** The origins that challenges may name; where there are none in it, any. */
  readonly audiences: readonly string[]
  /** Whether challenges that name nobody are signed as well. */
  readonly allowPlainChallenges: boolean
  /** What `verify_agent` has asked and nobody has answered. */
  readonly issued: IssuedChallenges
  /** Writes a line to the operator's log, standard error. */
  log(message: string): void
}
