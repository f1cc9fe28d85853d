import {
  CodedError,
  type Did,
  didOf,
  type Naming,
  parseDidOrTail,
  type Tail,
} from '@countersign/protocol'

/** The service's address and names, as documents and links show them. */
export interface Site {
  readonly naming: Naming
  /** Origin, without a slash at the end. */
  readonly baseUrl: string
  /** Host name, with the port unless it is the default one. */
  readonly host: string
  /** Display names of identity providers, by provider ID. */
  readonly providerLabels: ReadonlyMap<string, string>
  /** By the ID of the kind. */
  readonly channelKinds: ReadonlyMap<string, PublicKind>
}

/** What pages and cards show of a kind of channel. */
export interface PublicKind {
  readonly label: string
  /** Whether people can chat with an agent on it. If so, the compact card shows the handle. */
  readonly chat: boolean
  /** One sentence for people: what a proof on this channel shows. */
  readonly proves: string
  /** The https address of a handle or domain, or null if there is none. */
  link(handle: string): string | null
}

export function siteOf(
  naming: Naming,
  baseUrl: URL,
  providerLabels: ReadonlyMap<string, string> = new Map(),
  kinds: readonly (PublicKind & { readonly id: string })[] = [],
): Site {
  const channelKinds = new Map(kinds.map((each) => [each.id, each]))
  return { naming, baseUrl: baseUrl.origin, host: baseUrl.host, providerLabels, channelKinds }
}

export function didOfAgent(site: Site, tail: Tail): Did {
  return didOf(site.naming, tail)
}

/**
 * The tail in a path parameter that is a DID or a tail.
 * @throws CodedError VALIDATION_ERROR
 */
export function tailOf(naming: Naming, reference: string): Tail {
  const tail = parseDidOrTail(naming, reference)
  if (tail !== null) return tail
  throw new CodedError(
    'VALIDATION_ERROR',
    `An agent is named by its DID (${naming.didPrefix} and 24 base58 characters) or by those 24 characters.`,
  )
}

/** The path of an agent's certificate page. By DID, since a username can later belong to another agent. */
export function certificatePath(site: Site, { tail }: { readonly tail: Tail }): string {
  return `/agent/${didOfAgent(site, tail)}`
}
