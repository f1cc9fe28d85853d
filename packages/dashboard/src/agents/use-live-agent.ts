import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { followAccount } from '../api/account-stream.ts'
import { sessionQuery } from '../api/queries.ts'
import { didIn } from './did.ts'
import { AGENTS_KEY } from './queries.ts'
import { useService } from './use-service.ts'

/** Refreshes the agent whenever the service reports a change of it. */
export function useLiveAgent(did: string): void {
  const queries = useQueryClient()
  const { shortName } = useService()

  useEffect(() => {
    const refresh = () => {
      void queries.invalidateQueries({ queryKey: AGENTS_KEY })
      void queries.invalidateQueries({ queryKey: sessionQuery.queryKey })
    }
    return followAccount({
      onEvent: (_type, data) => didIn(shortName, data) === did && refresh(),
      onInterrupted: refresh,
    })
  }, [queries, shortName, did])
}
