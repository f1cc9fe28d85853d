import { useBlocker } from '@tanstack/react-router'
import { ConfirmDialog } from '../../parts/dialog.tsx'

interface LeavingDialogProps {
  readonly unsaved: boolean
}

/** What was entered and not saved is not lost by a wrong click. */
export function LeavingDialog({ unsaved }: LeavingDialogProps) {
  const blocker = useBlocker({
    // A session that has ended leads away whatever is open.
    shouldBlockFn: ({ next }) => unsaved && next.routeId !== '/signed-out/sign-in',
    enableBeforeUnload: () => unsaved,
    withResolver: true,
  })
  return (
    <ConfirmDialog
      open={blocker.status === 'blocked'}
      onClose={() => blocker.reset?.()}
      title="Leave without saving?"
      action="Leave without saving"
      onConfirm={async () => blocker.proceed?.()}
    >
      <p>What you have changed here is lost if you leave now.</p>
    </ConfirmDialog>
  )
}
