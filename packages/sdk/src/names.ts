/** What a deployment calls things, where its host has chosen other names than the usual ones. */
export interface NamingOptions {
  /** The word before `:agent:` in its DIDs. Default: `svc`. */
  readonly shortName?: string | undefined
  /** The identification header. Default: `ServiceID`. */
  readonly idHeader?: string | undefined
}

/** The two names that a host can choose. */
export interface Names {
  readonly shortName: string
  readonly idHeader: string
}
