import type { ReactNode } from 'react'
import { htmlOf } from './html.tsx'
import type { PageContext } from './page-context.ts'
import { Shell } from './shell.tsx'

interface NoticeProps {
  readonly context: PageContext
  readonly title: string
  readonly description: string
  /** Small, over the heading. */
  readonly above: ReactNode
  readonly heading: ReactNode
  readonly children: ReactNode
}

/** A page that says in a few sentences why there is nothing else at its address, and leads on. */
export function noticePage({
  context,
  title,
  description,
  above,
  heading,
  children,
}: NoticeProps): string {
  return htmlOf(
    <Shell
      context={context}
      title={`${title} · ${context.serviceName}`}
      description={description}
      path={null}
    >
      <div className="max-w-2xl py-10 sm:py-20">
        <p className="text-lg text-soft wrap-anywhere tabular-nums">{above}</p>
        <h1 className="mt-2 text-4xl/11 font-bold tracking-tight text-balance sm:text-5xl/14">
          {heading}
        </h1>
        {children}
      </div>
    </Shell>,
  )
}

const LINK = 'text-accent underline underline-offset-4 hover:text-accent-strong'

/** Where a visitor can go from a notice. */
export function NoticeLinks() {
  return (
    <p className="mt-8 flex flex-wrap gap-x-7 gap-y-2">
      <a href="/check" className={LINK}>
        Check an agent
      </a>
      <a href="/" className={LINK}>
        Start page
      </a>
    </p>
  )
}
