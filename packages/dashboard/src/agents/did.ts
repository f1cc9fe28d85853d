import type { OwnerAgent, SessionState } from '@countersign/protocol'

/** The agent's DID. The name of its field contains the service's short name. */
export function didOf({ shortName }: SessionState['service'], agent: OwnerAgent): string {
  return didIn(shortName, agent) ?? ''
}

/** The DID in a response or event of the service, or null if it has none. */
export function didIn(shortName: string, data: object): string | null {
  const value: unknown = Object.entries(data).find(([key]) => key === `${shortName}Did`)?.[1]
  return typeof value === 'string' ? value : null
}

/** The owner's name for an agent: until it has one, the label that was chosen at the claim. */
export function nameOf({ profile, agentId }: Pick<OwnerAgent, 'profile' | 'agentId'>): string {
  return profile.displayName ?? profile.username ?? agentId
}
