import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { sessionQuery } from '../api/queries.ts'
import { ActingForStrip } from './acting-for-strip.tsx'

/** The same width as the public pages. */
const WIDTH = 'mx-auto w-full max-w-5xl px-4 sm:px-8'

interface FrameProps {
  readonly header: ReactNode
  readonly children: ReactNode
}

/** The skip link, header and main area of every page. */
export function Frame({ header, children }: FrameProps) {
  const development = useQuery(sessionQuery).data?.service.development
  return (
    <div className="flex min-h-dvh flex-col">
      <a
        href="#content"
        className="sr-only focus:not-sr-only focus:absolute focus:top-2 focus:left-2 focus:z-30 focus:rounded-lg focus:bg-surface focus:px-4 focus:py-2"
      >
        Skip to content
      </a>
      <header className="border-line border-b print:hidden">
        {development && (
          <p className="text-balance bg-warn-wash px-4 py-2 text-center font-medium text-sm text-warn">
            Development only: identities on this service are not verified.
          </p>
        )}
        <ActingForStrip className={WIDTH} />
        <div className={WIDTH}>{header}</div>
      </header>
      <main
        id="content"
        tabIndex={-1}
        className={`${WIDTH} flex-1 pt-8 pb-24 outline-hidden sm:pt-12`}
      >
        {children}
      </main>
    </div>
  )
}
