import { type Did, didOf, type Naming, type Tail } from '@countersign/protocol'
import type { AgentRecord } from '../agents/agent-record.ts'
import type { ChannelKind } from '../channels/kinds/kind.ts'

/** Where the service stands and what it is called: what documents and links are made of. */
export interface Site {
  readonly naming: Naming
  /** Without a slash at the end. */
  readonly baseUrl: string
  /** Host name, with its port where it has one. */
  readonly host: string
  /** What people read for the ids of identity providers. */
  readonly providerLabels: ReadonlyMap<string, string>
  /** What people are told of a channel, by the id of its kind. */
  readonly channelKinds: ReadonlyMap<string, PublicKind>
}

/** Of a kind of channel, what pages and cards say. */
type PublicKind = Pick<ChannelKind, 'label' | 'proves' | 'chat' | 'link'>

export function siteOf(
  naming: Naming,
  baseUrl: URL,
  providerLabels: ReadonlyMap<string, string> = new Map(),
  kinds: readonly ChannelKind[] = [],
): Site {
  const channelKinds = new Map(kinds.map((each) => [each.id, each]))
  return { naming, baseUrl: baseUrl.origin, host: baseUrl.host, providerLabels, channelKinds }
}

export function didOfAgent(site: Site, tail: Tail): Did {
  return didOf(site.naming, tail)
}

/** The path of an agent's certificate page: by username where it has one. */
export function certificatePath(site: Site, agent: AgentRecord): string {
  return `/agent/${agent.profile.username ?? didOfAgent(site, agent.tail)}`
}
