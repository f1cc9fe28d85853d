import { useQueryClient } from '@tanstack/react-query'
import { accountQuery, sessionQuery } from '../../api/queries.ts'

/** @returns refetches the account after a change */
export function useRefreshAccount(): () => Promise<void> {
  const queries = useQueryClient()
  return async () => {
    await Promise.all([
      queries.invalidateQueries(accountQuery),
      queries.invalidateQueries(sessionQuery),
    ])
  }
}
