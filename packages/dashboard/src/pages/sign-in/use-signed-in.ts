import { useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { sessionQuery } from '../../api/session.ts'
import { safeNext } from './next.ts'

/** @returns what to do once someone is signed in: forget what was known of anyone else, and go on */
export function useSignedIn(next: string | undefined): () => Promise<void> {
  const queries = useQueryClient()
  const router = useRouter()
  return async () => {
    queries.clear()
    await queries.fetchQuery({ ...sessionQuery, staleTime: 0 })
    router.history.push(safeNext(next))
  }
}
