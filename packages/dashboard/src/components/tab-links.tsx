import { Link, type LinkProps } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'

interface TabLinksProps {
  /** The accessible name, such as `Agent`. */
  readonly label: string
  readonly tabs: readonly {
    readonly label: string
    readonly to: NonNullable<LinkProps['to']>
  }[]
  readonly params?: LinkProps['params']
}

const TAB =
  '-mb-px inline-flex min-h-11 items-center border-transparent border-b-3 px-2.5 font-medium text-soft no-underline hover:text-ink aria-[current=page]:border-accent aria-[current=page]:text-ink sm:px-3'

/** Tabs with a URL each: a navigation of links, which wraps on narrow screens. */
export function TabLinks({ label, tabs, params }: TabLinksProps) {
  return (
    <nav aria-label={label} className="-mx-2.5 flex flex-wrap border-line border-b sm:mx-0">
      {tabs.map((tab) => (
        <Link
          key={tab.to}
          to={tab.to}
          params={params as never}
          activeOptions={{ exact: true }}
          resetScroll={false}
          className={TAB}
        >
          {tab.label}
        </Link>
      ))}
    </nav>
  )
}

interface TabContentProps {
  readonly tab: string
  readonly children: ReactNode
}

/** Moves the focus to the content after another tab was selected, so that screen readers announce it. */
export function TabContent({ tab, children }: TabContentProps) {
  const content = useRef<HTMLElement>(null)
  const shown = useRef(tab)
  useEffect(() => {
    if (shown.current !== tab) content.current?.focus({ preventScroll: true })
    shown.current = tab
  }, [tab])
  return (
    <section ref={content} tabIndex={-1} aria-label={`${tab} tab`} className="outline-hidden">
      {children}
    </section>
  )
}
