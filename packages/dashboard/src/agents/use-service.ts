import type { SessionState } from '@countersign/protocol'
import { useSuspenseQuery } from '@tanstack/react-query'
import { sessionQuery } from '../api/queries.ts'

/** The deployment's names and URL. Loaded before any page is shown. */
export function useService(): SessionState['service'] {
  return useSuspenseQuery(sessionQuery).data.service
}
