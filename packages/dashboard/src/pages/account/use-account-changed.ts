import { useQueryClient } from '@tanstack/react-query'
import { accountQuery } from '../../api/account.ts'
import { sessionQuery } from '../../api/session.ts'

/** @returns what to await after a change of the account, so that the page shows it */
export function useAccountChanged(): () => Promise<void> {
  const queries = useQueryClient()
  return async () => {
    await Promise.all([
      queries.invalidateQueries(accountQuery),
      queries.invalidateQueries(sessionQuery),
    ])
  }
}
