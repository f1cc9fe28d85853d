import { useQuery } from '@tanstack/react-query'
import { useRouterState } from '@tanstack/react-router'
import { type ReactNode, useEffect, useId, useRef } from 'react'
import { organisation } from '../api/acting-for.ts'
import { sessionQuery } from '../api/queries.ts'

interface PageProps {
  /** The h1 and the document's title. */
  readonly title: string
  /** Shown above the h1, such as a link back. */
  readonly above?: ReactNode
  /** The purpose of the page, in one sentence. */
  readonly lead?: ReactNode
  /** Shown beside the h1. */
  readonly actions?: ReactNode
  /** Added to the document's title, such as the name of a tab. */
  readonly subtitle?: string
  /** Identifies the page for the focus. Default: the path. Set it if several paths share one page. */
  readonly place?: string
  readonly width?: 'wide' | 'narrow'
  /** Distinguishes pages that share one URL. */
  readonly step?: string
  readonly children: ReactNode
}

/** The page that was shown last; null before the first, which must not move the focus. */
let shownAt: string | null = null

/** The frame of every page. Sets the title, and moves the focus to the h1 after navigation. */
export function Page(props: PageProps) {
  const { title, subtitle, place, above, lead, actions, width = 'wide', step, children } = props
  const heading = useRef<HTMLHeadingElement>(null)
  // `location` would already be the next page while that is loading.
  const pathname = useRouterState({ select: (state) => state.resolvedLocation?.pathname })
  const service = useQuery(sessionQuery).data?.service.name

  useEffect(() => {
    const actingFor = organisation && `@${organisation}`
    document.title = [subtitle, title, actingFor, service].filter(Boolean).join(' · ')
  }, [subtitle, title, service])

  useEffect(() => {
    if (pathname === undefined) return
    const here = `${place ?? pathname} ${step ?? ''}`
    if (shownAt !== null && shownAt !== here) heading.current?.focus()
    shownAt = here
  }, [pathname, place, step])

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
  /** The id for links with a fragment. The section scrolls into view even if it is rendered late. */
  readonly anchor?: string
  /** One or two sentences about the content. */
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

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
          <h2 id={id} className="wrap-anywhere font-semibold text-xl tracking-tight">
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
