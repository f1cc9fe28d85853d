import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useCallback, useContext, useRef, useState } from 'react'
import { ApiError } from '../api/client.ts'
import { NotConfirmed } from '../api/failure.ts'
import { sessionQuery } from '../api/session.ts'
import { Dialog } from './dialog.tsx'
import { SetAside } from './set-aside.ts'
import { WaysToConfirm } from './ways-to-confirm.tsx'

type Recently = <T>(action: () => Promise<T>) => Promise<T>

const RecentContext = createContext<Recently | null>(null)

/**
 * For what needs a recent sign-in: `const recently = useRecently()`, then `await recently(() => send(…))`. Where the
 * service asks for one, the person is asked to confirm that it is them, and the action is tried once more.
 * @throws NotConfirmed where they do not, of which `ErrorNote` says nothing; otherwise what the action throws
 */
export function useRecently(): Recently {
  const recently = useContext(RecentContext)
  if (recently === null) throw new Error('useRecently() outside RecentSignInHost')
  return recently
}

interface Waiting {
  readonly confirmed: () => void
  readonly givenUp: () => void
}

/** Where the question is asked: once, around every page of someone who is signed in. */
export function RecentSignInHost({ children }: { readonly children: ReactNode }) {
  const queries = useQueryClient()
  const owner = useQuery(sessionQuery).data?.owner
  const waiting = useRef<Waiting | null>(null)
  const [asking, setAsking] = useState(false)

  const recently = useCallback<Recently>(async (action) => {
    try {
      return await action()
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 'RECENT_SIGN_IN_REQUIRED')) throw error
      await new Promise<void>((resolve, reject) => {
        waiting.current = { confirmed: resolve, givenUp: () => reject(new NotConfirmed()) }
        setAsking(true)
      })
      return await action()
    }
  }, [])

  function end(how: keyof Waiting) {
    setAsking(false)
    waiting.current?.[how]()
    waiting.current = null
  }

  function confirmed(username: string) {
    // Another account's passkey has signed that account in: nothing here is of its owner.
    if (username !== owner?.username) return location.assign('/dashboard/')
    void queries.invalidateQueries(sessionQuery)
    end('confirmed')
  }

  return (
    <RecentContext value={recently}>
      <SetAside value={asking}>{children}</SetAside>
      <Dialog
        open={asking}
        onClose={() => end('givenUp')}
        title="Confirm that it is you"
        description="What you are about to do cannot be left to whoever finds this browser open. Sign in once more, and it goes on."
      >
        {owner && <WaysToConfirm username={owner.username} onConfirmed={confirmed} />}
      </Dialog>
    </RecentContext>
  )
}
