import type { AgentStatus } from '@countersign/protocol'
import { Wordmark } from '@countersign/ui'
import type { ReactNode } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { END_OF_PAGE, Head, type HeadProps } from './head.tsx'
import type { PageContext } from './page-context.ts'

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
          Skip to content
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
      className={`${width} flex flex-wrap items-center justify-between gap-x-8 gap-y-2 py-4 sm:py-6`}
    >
      <a href="/" className="flex max-w-full rounded-md">
        <Wordmark name={context.serviceName} />
      </a>
      <nav
        aria-label="Site"
        className="flex min-w-0 flex-wrap items-center gap-x-5 gap-y-1 text-base text-ink sm:gap-x-7"
      >
        <a href="/check" className={LINK}>
          Check
        </a>
        <a href="/docs" className={LINK}>
          Docs
        </a>
        <Account visitor={context.visitor} />
        <ThemeButton />
      </nav>
    </header>
  )
}

/** The link to the dashboard alone, for pages that are rendered at build time. */
export function accountLink(visitor: PageContext['visitor']): string {
  return renderToStaticMarkup(<Account visitor={visitor} />)
}

/** The link to the dashboard, which says who is signed in. */
function Account({ visitor }: Pick<PageContext, 'visitor'>) {
  return (
    <a href="/dashboard" className={`${LINK} min-w-0 truncate`}>
      {visitor === null ? 'Sign in' : 'Dashboard'}
      {typeof visitor === 'string' && (
        <span className="text-soft max-sm:hidden">
          {' '}
          <span className="sr-only">, signed in as </span>@{visitor}
        </span>
      )}
    </a>
  )
}

/** Changes the theme: system, light, dark. The style sheet shows the current one; hidden without JavaScript. */
function ThemeButton() {
  return (
    <button
      type="button"
      data-theme-button
      className="theme-button inline-flex size-9 shrink-0 cursor-pointer items-center justify-center rounded-md border border-line-strong bg-surface text-ink hover:border-accent hover:text-accent noscript:hidden"
    >
      {THEME_ICONS.map(({ theme, path }) => (
        <span key={theme} data-when={theme}>
          <span className="sr-only">Theme: {theme}</span>
          <svg
            viewBox="0 0 20 20"
            fill="none"
            stroke="currentColor"
            strokeWidth="1.6"
            strokeLinecap="round"
            aria-hidden="true"
            className="size-5"
          >
            <path d={path} />
          </svg>
        </span>
      ))}
    </button>
  )
}

const THEME_ICONS = [
  { theme: 'system', path: 'M3 4.5h14v9H3zM7 17h6M10 13.5V17' },
  {
    theme: 'light',
    path: 'M13.5 10a3.5 3.5 0 1 1-7 0 3.5 3.5 0 0 1 7 0ZM10 2v1.5M10 16.5V18M2 10h1.5M16.5 10H18M4.3 4.3l1.1 1.1M14.6 14.6l1.1 1.1M4.3 15.7l1.1-1.1M14.6 5.4l1.1-1.1',
  },
  { theme: 'dark', path: 'M16.5 12.2A7 7 0 0 1 7.8 3.5a7 7 0 1 0 8.7 8.7Z' },
] as const

function Footer({ context: { serviceName, site }, width }: FrameProps) {
  return (
    <footer className="border-t border-line">
      <div
        className={`${width} flex flex-wrap items-baseline justify-between gap-x-8 gap-y-2 py-8 text-sm text-soft`}
      >
        <p>
          {serviceName} at {site.host}. DIDs begin with{' '}
          <code className="font-mono">{site.naming.didPrefix}</code>
        </p>
        <nav aria-label="For programs" className="flex flex-wrap gap-x-5">
          <a href="/docs/api" className={LINK}>
            API reference
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
