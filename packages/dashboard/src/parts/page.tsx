import { useQuery } from '@tanstack/react-query'
import { useRouterState } from '@tanstack/react-router'
import { type ReactNode, useEffect, useId, useRef } from 'react'
import { sessionQuery } from '../api/session.ts'

interface PageProps {
  /** The h1, and the document's title. */
  readonly title: string
  /** Above the h1: the way back. */
  readonly above?: ReactNode
  /** What the page is for, in a sentence. */
  readonly lead?: ReactNode
  /** Beside the h1. */
  readonly actions?: ReactNode
  readonly width?: 'wide' | 'narrow'
  /** Where one address has several pages, one after the other: which of them it is. */
  readonly step?: string
  readonly children: ReactNode
}

/** Where the last page was shown; null before the first, which leaves the focus where the browser puts it. */
let shownAt: string | null = null

/** What every page has: one h1, which gets the focus when one comes here from another page, and a title. */
export function Page({ title, above, lead, actions, width = 'wide', step, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  // Not `location`, which is ahead of what is shown while the next page is on its way.
  const pathname = useRouterState({ select: (state) => state.resolvedLocation?.pathname })
  const service = useQuery(sessionQuery).data?.service.name

  useEffect(() => {
    document.title = service === undefined ? title : `${title} · ${service}`
  }, [title, service])

  useEffect(() => {
    if (pathname === undefined) return
    const here = `${pathname} ${step ?? ''}`
    if (shownAt !== null && shownAt !== here) heading.current?.focus()
    shownAt = here
  }, [pathname, step])

  return (
    <div className={`flex flex-col gap-8 ${width === 'wide' ? '' : 'mx-auto max-w-xl'}`}>
      <div className="flex flex-col gap-2">
        {above}
        <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-3">
          <h1
            ref={heading}
            tabIndex={-1}
            className="min-w-0 text-balance break-words font-semibold text-3xl tracking-tight outline-hidden sm:text-4xl"
          >
            {title}
          </h1>
          {actions}
        </div>
        {lead && <p className="max-w-2xl text-pretty break-words text-lg text-soft">{lead}</p>}
      </div>
      {children}
    </div>
  )
}

interface SectionProps {
  readonly title: string
  /** Its name in addresses: a link to it leads here, even where it comes later than the page. */
  readonly anchor?: string
  /** What it is about, in a sentence or two. */
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** A part of a page, on its own ground, under an h2. */
export function Section({ title, anchor, lead, actions, children }: SectionProps) {
  const id = useId()
  const ground = useRef<HTMLElement>(null)

  useEffect(() => {
    if (anchor !== undefined && location.hash === `#${anchor}`) ground.current?.scrollIntoView()
  }, [anchor])

  return (
    <section
      ref={ground}
      id={anchor}
      aria-labelledby={id}
      className="flex scroll-mt-8 flex-col gap-5 rounded-2xl border border-line bg-surface p-5 sm:p-7"
    >
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="flex min-w-0 flex-col gap-1">
          <h2 id={id} className="font-semibold text-xl tracking-tight">
            {title}
          </h2>
          {lead && <div className="max-w-2xl text-pretty text-soft">{lead}</div>}
        </div>
        {actions}
      </div>
      {children}
    </section>
  )
}
