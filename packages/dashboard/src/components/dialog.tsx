import { AlertDialog } from '@base-ui/react/alert-dialog'
import { Dialog as BaseDialog } from '@base-ui/react/dialog'
import { type FormEvent, type ReactNode, useState } from 'react'
import { Button } from './button.tsx'
import { ErrorNote } from './error-note.tsx'
import { type FocusAfter, useDialogFocus } from './use-dialog-focus.ts'

const BACKDROP =
  'fixed inset-0 z-40 min-h-dvh bg-sunken/75 backdrop-blur-xs transition-opacity duration-150 data-ending-style:opacity-0 data-starting-style:opacity-0'
const VIEWPORT = 'fixed inset-0 z-50 grid place-items-center overflow-y-auto p-4'
const POPUP =
  'w-full max-w-lg rounded-2xl border border-line bg-surface p-5 shadow-xl outline-hidden transition duration-150 data-ending-style:scale-98 data-ending-style:opacity-0 data-starting-style:scale-98 data-starting-style:opacity-0 sm:p-7'
const TITLE = 'text-balance font-semibold text-xl tracking-tight'

interface DialogProps {
  readonly open: boolean
  readonly onClose: () => void
  readonly title: string
  /** Read out together with the title. */
  readonly description?: ReactNode
  readonly children: ReactNode
}

/** Closed by Escape, a click outside, or `onClose`. */
export function Dialog({ open, onClose, title, description, children }: DialogProps) {
  const { shown, finalFocus } = useDialogFocus(open)
  return (
    <BaseDialog.Root open={shown} onOpenChange={(now) => now || onClose()}>
      <BaseDialog.Portal keepMounted={open}>
        <BaseDialog.Backdrop className={BACKDROP} />
        <BaseDialog.Viewport className={VIEWPORT}>
          <BaseDialog.Popup className={POPUP} finalFocus={finalFocus}>
            <BaseDialog.Title className={TITLE}>{title}</BaseDialog.Title>
            {description && (
              <BaseDialog.Description className="mt-2 text-soft">
                {description}
              </BaseDialog.Description>
            )}
            <div className="mt-5 flex flex-col gap-4">{children}</div>
          </BaseDialog.Popup>
        </BaseDialog.Viewport>
      </BaseDialog.Portal>
    </BaseDialog.Root>
  )
}

/** The buttons at the bottom of a dialog. */
export function DialogActions({ children }: { readonly children: ReactNode }) {
  return <div className="mt-2 flex flex-col gap-3 sm:flex-row-reverse">{children}</div>
}

interface ConfirmDialogProps {
  readonly open: boolean
  readonly onClose: () => void
  readonly title: string
  /** What will happen, and fields for input that is needed. */
  readonly children: ReactNode
  /** A label that names the action: `Revoke 3 agents`, not `OK`. */
  readonly action: string
  /** The label of the button that closes the dialog. Default: `Cancel`. */
  readonly cancel?: string
  readonly danger?: boolean
  /** While false, the button is disabled because input is missing. */
  readonly ready?: boolean
  /** Runs the action. The dialog closes if it succeeds and shows the error if it fails. */
  readonly onConfirm: () => Promise<unknown>
  /** Called instead of `onClose` after the action has succeeded. */
  readonly onDone?: () => void
  /** Where to move the focus after closing, if the element that opened the dialog may be gone. */
  readonly focusAfter?: FocusAfter
}

/** Asks for confirmation of an action with consequences. Only its buttons and Escape close it. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { shown, finalFocus } = useDialogFocus(props.open, props.focusAfter)
  return (
    <AlertDialog.Root open={shown} onOpenChange={(now) => now || props.onClose()}>
      <AlertDialog.Portal keepMounted={props.open}>
        <AlertDialog.Backdrop className={BACKDROP} />
        <AlertDialog.Viewport className={VIEWPORT}>
          <AlertDialog.Popup className={POPUP} finalFocus={finalFocus}>
            <Confirmation {...props} />
          </AlertDialog.Popup>
        </AlertDialog.Viewport>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}

function Confirmation({
  onClose,
  title,
  children,
  action,
  cancel = 'Cancel',
  danger = false,
  ready = true,
  onConfirm,
  onDone = onClose,
}: ConfirmDialogProps) {
  const [pending, setPending] = useState(false)
  const [error, setError] = useState<unknown>(null)

  async function confirm(event: FormEvent) {
    event.preventDefault()
    if (!ready || pending) return
    setPending(true)
    setError(null)
    try {
      await onConfirm()
      onDone()
    } catch (cause) {
      setError(cause)
    } finally {
      setPending(false)
    }
  }

  return (
    <form onSubmit={confirm}>
      <AlertDialog.Title className={TITLE}>{title}</AlertDialog.Title>
      {/* A div instead of a paragraph, because the description may contain a list. */}
      <AlertDialog.Description render={<div />} className="mt-3 flex flex-col gap-3">
        {children}
      </AlertDialog.Description>
      <div className="mt-5 flex flex-col gap-4">
        <ErrorNote error={error} />
        <DialogActions>
          <Button
            type="submit"
            variant={danger ? 'danger' : 'primary'}
            pending={pending}
            disabled={!ready}
          >
            {action}
          </Button>
          <Button onClick={onClose}>{cancel}</Button>
        </DialogActions>
      </div>
    </form>
  )
}
