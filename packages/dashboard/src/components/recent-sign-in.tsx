import { useQuery, useQueryClient } from '@tanstack/react-query'
import {
  type ComponentType,
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useRef,
  useState,
} from 'react'
import { ReauthenticationCancelled } from '../api/browser-errors.ts'
import { ApiError } from '../api/client.ts'
import { sessionQuery } from '../api/queries.ts'
import { Dialog } from './dialog.tsx'
import type { ReauthenticationFormProps } from './reauthentication-form.tsx'
import { DialogsHiddenContext } from './use-dialog-focus.ts'

type WithRecentSignIn = <T>(action: () => Promise<T>) => Promise<T>

const RecentContext = createContext<WithRecentSignIn | null>(null)

/**
 * Wraps an action that needs a recent sign-in: `await withRecentSignIn(() => send(…))`. If the service asks for one,
 * shows the re-authentication dialog and runs the action again.
 * @throws ReauthenticationCancelled if the user closes the dialog, otherwise what the action throws
 */
export function useRecentSignIn(): WithRecentSignIn {
  const withRecentSignIn = useContext(RecentContext)
  if (withRecentSignIn === null) throw new Error('useRecentSignIn() outside RecentSignInProvider')
  return withRecentSignIn
}

interface PendingConfirmation {
  readonly confirmed: () => void
  readonly cancelled: () => void
}

/** Renders the re-authentication dialog for all pages of a signed-in owner. */
export function RecentSignInProvider({ children }: { readonly children: ReactNode }) {
  const queries = useQueryClient()
  const username = useQuery(sessionQuery).data?.person?.username ?? null
  const pending = useRef<PendingConfirmation | null>(null)
  const [dialogOpen, setDialogOpen] = useState(false)
  const [why, setWhy] = useState('')
  const [Form, setForm] = useState<ComponentType<ReauthenticationFormProps> | null>(null)

  const withRecentSignIn = useCallback<WithRecentSignIn>(async (action) => {
    try {
      return await action()
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 'RECENT_SIGN_IN_REQUIRED')) throw error
      // Few visits need it, so it is not part of the first load. It is there before the dialog opens, which moves the focus into it.
      const { ReauthenticationForm } = await import('./reauthentication-form.tsx')
      setForm(() => ReauthenticationForm)
      await new Promise<void>((resolve, reject) => {
        pending.current = {
          confirmed: resolve,
          cancelled: () => reject(new ReauthenticationCancelled()),
        }
        // Some actions admit certain sign-in methods only, which the message names.
        setWhy(error.message)
        setDialogOpen(true)
      })
      return await action()
    }
  }, [])

  function finish(result: keyof PendingConfirmation) {
    setDialogOpen(false)
    pending.current?.[result]()
    pending.current = null
  }

  function confirmed(confirmedAs: string) {
    // The passkey belongs to another account, which is now signed in: reload, because this page shows the first
    // account's data.
    if (confirmedAs !== username) return location.assign('/dashboard/')
    void queries.invalidateQueries(sessionQuery)
    finish('confirmed')
  }

  return (
    <RecentContext value={withRecentSignIn}>
      <DialogsHiddenContext value={dialogOpen}>{children}</DialogsHiddenContext>
      <Dialog
        open={dialogOpen}
        onClose={() => finish('cancelled')}
        title="Sign in again to continue"
        description={why}
      >
        {username !== null && Form && <Form username={username} onConfirmed={confirmed} />}
      </Dialog>
    </RecentContext>
  )
}
