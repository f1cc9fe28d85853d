import { useContext, useEffect, useLayoutEffect, useRef } from 'react'
import { SetAside } from './set-aside.ts'

/** Where the focus goes when a dialog is closed: there; true or null: to where it was. */
export type FocusAfter = () => HTMLElement | true | null

interface WayBack {
  /** Whether the dialog is to be seen. */
  readonly shown: boolean
  /** For the dialog's `finalFocus`. */
  readonly finalFocus: () => HTMLElement | false
}

/** Where the focus was when a dialog opened, and is to be again. Not while the dialog only steps aside. */
export function useWayBack(open: boolean, focusAfter?: FocusAfter): WayBack {
  const aside = useContext(SetAside)
  const opener = useRef<Element | null>(null)

  useLayoutEffect(() => {
    if (open) opener.current = document.activeElement
  }, [open])
  useEffect(() => refocusWhenLost, [])

  function finalFocus(): HTMLElement | false {
    if (aside) return false
    const after = focusAfter?.()
    if (after instanceof HTMLElement) return after
    const { current } = opener
    // The dialog that stepped aside comes back, or has gone, and sees to the focus itself.
    if (current?.closest('[role="dialog"], [role="alertdialog"]')) return false
    // What was pressed may be gone, together with what it was about.
    if (current instanceof HTMLElement && current.isConnected) return current
    return document.querySelector('h1') ?? false
  }

  return { shown: open && !aside, finalFocus }
}

/** A dialog that goes together with what it was about has no time to send the focus anywhere. */
function refocusWhenLost(): void {
  setTimeout(() => {
    if (document.activeElement === document.body) document.querySelector('h1')?.focus()
  })
}
