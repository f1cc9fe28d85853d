/** A key that was replaced, by a tool. */
export interface RotatedByTool {
  readonly did: string
  /** The new key: 32 bytes in padded standard base64. */
  readonly publicKey: string
  readonly keySequence: number
  readonly keyChangedAt: string
}

/** What a tool does, for hosts that ask people before a call (Model Context Protocol, `ToolAnnotations`). */
export interface ToolAnnotations {
  readonly readOnlyHint: boolean
  readonly destructiveHint: boolean
  readonly idempotentHint: boolean
  readonly openWorldHint: boolean
}

/** The default of `approvalWaitMs`. */
export const APPROVAL_WAIT_MS = 50_000

/** Options of `toTools`. */
export interface ToolOptions {
  /** Which of the tools, by name, such as `['fetch', 'lookup_agent']`. Default: all. */
  readonly only?: readonly string[] | undefined
  /**
   * Replaces the agent's key and stores the new one: `() => rotateKeyFile({ registry, path })` of `@countersign/sdk/node`. Default: there
   * is no tool `rotate_key`.
   */
  readonly rotateKey?: ((did: string | undefined) => Promise<RotatedByTool>) | undefined
  /** Whether challenges without an audience are signed as well. Default: false. */
  readonly allowPlainChallenges?: boolean | undefined
  /**
   * How long a call of `fetch` waits until the owner has decided about an approval, in milliseconds. Then it returns the id, with which the
   * next call goes on. Default: 50,000, since many hosts end a call after a minute.
   */
  readonly approvalWaitMs?: number | undefined
  /** Gets messages for the operator. Default: `console.error`. */
  readonly log?: ((message: string) => void) | undefined
}
