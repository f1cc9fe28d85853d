import type { OwnerAgent, SessionState } from '@countersign/protocol'

/** @returns the DID of an agent, from the field that has the service's short name in it */
export function didOf({ shortName }: SessionState['service'], agent: OwnerAgent): string {
  return didIn(shortName, agent) ?? ''
}

/** @returns the DID in something that the service has sent; null where there is none */
export function didIn(shortName: string, data: object): string | null {
  const value: unknown = Object.entries(data).find(([key]) => key === `${shortName}Did`)?.[1]
  return typeof value === 'string' ? value : null
}
