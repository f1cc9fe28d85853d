import { type ReactNode, useEffect, useRef } from 'react'

/** Keeps keyboard users in place: takes the focus if the element that had it was replaced by this one. */
export function RestoreFocus({ children }: { readonly children: ReactNode }) {
  const container = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (document.activeElement === document.body) container.current?.focus()
  }, [])
  return (
    <div ref={container} tabIndex={-1} className="outline-hidden">
      {children}
    </div>
  )
}
