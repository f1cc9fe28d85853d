import { useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { sessionQuery } from '../../api/queries.ts'
import { safeReturnPath } from './return-path.ts'

/** @returns called after signing in: clears cached data of a previous account and continues */
export function useAfterSignIn(next: string | undefined): () => Promise<void> {
  const queries = useQueryClient()
  const router = useRouter()
  return async () => {
    queries.clear()
    await queries.fetchQuery({ ...sessionQuery, staleTime: 0 })
    router.history.push(safeReturnPath(next))
  }
}
