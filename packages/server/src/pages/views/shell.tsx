import type { AgentStatus } from '@countersign/protocol'
import { Wordmark } from '@countersign/ui'
import type { ReactNode } from 'react'
import type { PageContext } from './context.ts'
import { END_OF_PAGE, Head, type HeadProps } from './head.tsx'

export interface ShellProps extends HeadProps {
  /** Status of the certificate: the whole page is styled by it. */
  readonly status?: AgentStatus
  /** Shown above everything else. */
  readonly banner?: ReactNode
  /** Leaves space for a side bar. */
  readonly wide?: boolean
  readonly children: ReactNode
}

const GROUNDS: Readonly<Record<AgentStatus, string>> = {
  active: 'bg-paper',
  suspended: 'bg-warn-wash',
  revoked: 'bg-bad-wash',
}

/** The frame of all pages: head, skip link, header, main, footer. */
export function Shell({ status = 'active', banner, wide = false, children, ...head }: ShellProps) {
  const { context } = head
  const width = `${WIDTH} ${wide ? 'max-w-7xl' : 'max-w-5xl'}`
  return (
    <html lang="en">
      <Head {...head} />
      <body className={`${GROUNDS[status]} flex min-h-svh flex-col text-base/7 antialiased`}>
        <a
          href="#main"
          className="sr-only focus:not-sr-only focus:fixed focus:top-3 focus:left-3 focus:z-10 focus:rounded-md focus:bg-accent focus:px-4 focus:py-2 focus:text-on-accent"
        >
          To the content
        </a>
        {banner}
        <Header context={context} width={width} />
        <main id="main" tabIndex={-1} className={`${width} flex-1 pt-4 pb-20 sm:pt-8`}>
          {children}
        </main>
        <Footer context={context} width={width} />
        <span id={END_OF_PAGE} />
      </body>
    </html>
  )
}

const WIDTH = 'mx-auto w-full px-4 sm:px-8'
const LINK = 'py-1 hover:text-accent hover:underline underline-offset-4'

interface FrameProps {
  readonly context: PageContext
  /** Tailwind classes for the width. */
  readonly width: string
}

function Header({ context, width }: FrameProps) {
  return (
    <header
      className={`${width} flex flex-wrap items-center justify-between gap-x-8 gap-y-1 py-4 sm:py-6`}
    >
      <a href="/" className="flex max-w-full rounded-md">
        <Wordmark name={context.serviceName} />
      </a>
      <nav aria-label="Site" className="flex gap-5 text-base text-ink sm:gap-7">
        <a href="/check" className={LINK}>
          Check
        </a>
        <a href="/docs" className={LINK}>
          Docs
        </a>
        <a href="/dashboard" className={LINK}>
          Dashboard
        </a>
      </nav>
    </header>
  )
}

function Footer({ context: { serviceName, site }, width }: FrameProps) {
  return (
    <footer className="border-t border-line">
      <div
        className={`${width} flex flex-wrap items-baseline justify-between gap-x-8 gap-y-2 py-8 text-sm text-soft`}
      >
        <p>
          {serviceName} at {site.host}. DIDs here begin with{' '}
          <code className="font-mono">{site.naming.didPrefix}</code>
        </p>
        <nav aria-label="For programs" className="flex flex-wrap gap-x-5">
          <a href="/docs/api" className={LINK}>
            HTTP reference
          </a>
          {['openapi.json', 'llms.txt', 'skill.md'].map((name) => (
            <a key={name} href={`/${name}`} className={LINK}>
              {name}
            </a>
          ))}
        </nav>
      </div>
    </footer>
  )
}
