import type { SessionState } from '@countersign/protocol'
import { useSuspenseQuery } from '@tanstack/react-query'
import { sessionQuery } from '../api/session.ts'

/** What the host calls the service, and where it stands: known before any page of agents is shown. */
export function useService(): SessionState['service'] {
  return useSuspenseQuery(sessionQuery).data.service
}
