import type { Registry } from './registry.ts'

/** How an agent signs requests to its service. */
export interface SignedCalls {
  readonly registry: Registry
  /** The agent's DID. @throws CountersignError NO_DID */
  readonly did: () => Promise<string>
  /** Signs a request to a path of the service and returns all its header fields. Called again for each attempt. */
  readonly sign: (path: string, init: RequestInit) => Promise<Record<string, string>>
}
