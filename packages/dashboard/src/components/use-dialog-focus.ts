import { createContext, useContext, useEffect, useLayoutEffect, useRef } from 'react'

/**
 * Whether open dialogs are hidden, with their input preserved, while the re-authentication dialog is open. Two open
 * dialogs would compete for the focus.
 */
export const DialogsHiddenContext = createContext(false)

/** Where to move the focus after a dialog closes. `true` or null: to the element that opened it. */
export type FocusAfter = () => HTMLElement | true | null

interface DialogFocus {
  /** Whether the dialog is visible. */
  readonly shown: boolean
  /** For `finalFocus` of the dialog. */
  readonly finalFocus: () => HTMLElement | false
}

/** Restores the focus when a dialog closes, but not while it is only hidden by the re-authentication dialog. */
export function useDialogFocus(open: boolean, focusAfter?: FocusAfter): DialogFocus {
  const hidden = useContext(DialogsHiddenContext)
  const opener = useRef<Element | null>(null)

  useLayoutEffect(() => {
    if (open) opener.current = document.activeElement
  }, [open])
  useEffect(() => refocusWhenLost, [])

  function finalFocus(): HTMLElement | false {
    if (hidden) return false
    const after = focusAfter?.()
    if (after instanceof HTMLElement) return after
    const { current } = opener
    // A hidden dialog restores the focus itself when it closes.
    if (current?.closest('[role="dialog"], [role="alertdialog"]')) return false
    // The element that opened the dialog may have been removed.
    if (current instanceof HTMLElement && current.isConnected) return current
    return document.querySelector('h1') ?? false
  }

  return { shown: open && !hidden, finalFocus }
}

/** A dialog that is unmounted together with its page cannot move the focus by `finalFocus`. */
function refocusWhenLost(): void {
  setTimeout(() => {
    if (document.activeElement === document.body) document.querySelector('h1')?.focus()
  })
}
