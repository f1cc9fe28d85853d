import { useContext, useLayoutEffect, useRef } from 'react'
import { SetAside } from './set-aside.ts'

interface WayBack {
  /** Whether the dialog is to be seen. */
  readonly shown: boolean
  /** For the dialog's `finalFocus`: what gets the focus when it is gone. */
  readonly finalFocus: () => HTMLElement | false
}

/** Where the focus was when a dialog opened, and is to be again. Not while the dialog only steps aside. */
export function useWayBack(open: boolean): WayBack {
  const aside = useContext(SetAside)
  const opener = useRef<Element | null>(null)

  useLayoutEffect(() => {
    if (open) opener.current = document.activeElement
  }, [open])

  function finalFocus(): HTMLElement | false {
    if (aside) return false
    const { current } = opener
    // What was pressed may be gone, together with what it was about.
    if (current instanceof HTMLElement && current.isConnected) return current
    return document.querySelector('h1') ?? false
  }

  return { shown: open && !aside, finalFocus }
}
