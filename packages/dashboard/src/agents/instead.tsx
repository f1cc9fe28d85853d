import { type ReactNode, useEffect, useRef } from 'react'

/** Stands where something else stood a moment ago, and takes the focus that went with it: the keyboard keeps its place. */
export function Instead({ children }: { readonly children: ReactNode }) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (document.activeElement === document.body) place.current?.focus()
  }, [])
  return (
    <div ref={place} tabIndex={-1} className="outline-hidden">
      {children}
    </div>
  )
}
