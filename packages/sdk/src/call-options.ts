/** What a caller can say of one call. */
export interface CallOptions {
  /** Ends this call; others who ask the same at the same moment are not disturbed. */
  readonly signal?: AbortSignal | undefined
  /** Ask the service even where the answer is still fresh. Default: false. */
  readonly fresh?: boolean | undefined
  /**
   * Where the service is out of reach, take the last answer if the service said it no longer ago than this, in
   * milliseconds. Default: that of the Registry, else 0, which is never. Mind what that means: an agent that was revoked
   * in the meantime still looks active. `Registry.originOf` tells whether it was so.
   */
  readonly staleIfErrorMs?: number | undefined
}

/** When the service last said what an answer says, and whether it was out of reach since. */
export interface AnswerOrigin {
  /** Milliseconds since 1970. */
  readonly confirmedAt: number
  readonly stale: boolean
}
