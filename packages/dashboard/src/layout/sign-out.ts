import { useQueryClient } from '@tanstack/react-query'
import { send } from '../api/client.ts'
import { inWords } from '../parts/error-note.tsx'
import { toast } from '../parts/toast.tsx'

/** Ends the session, and forgets whatever this page knows of it. */
export function useSignOut(): () => Promise<void> {
  const queries = useQueryClient()
  return async () => {
    try {
      await send('POST', '/api/session/end')
    } catch (error) {
      toast(`You are still signed in. ${inWords(error)}`)
      return
    }
    queries.clear()
    // A load of its own: nothing of this owner stays in the page's memory.
    location.assign('/dashboard/sign-in')
  }
}
