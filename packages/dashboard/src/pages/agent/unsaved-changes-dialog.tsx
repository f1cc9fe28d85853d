import { useBlocker } from '@tanstack/react-router'
import { ConfirmDialog } from '../../components/dialog.tsx'

interface UnsavedChangesDialogProps {
  readonly unsaved: boolean
}

export function UnsavedChangesDialog({ unsaved }: UnsavedChangesDialogProps) {
  const blocker = useBlocker({
    // An expired session must redirect to the sign-in page despite unsaved changes.
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
      <p>Your unsaved changes will be lost.</p>
    </ConfirmDialog>
  )
}
