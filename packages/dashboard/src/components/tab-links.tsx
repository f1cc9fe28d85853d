import { Link, type LinkProps } from '@tanstack/react-router'

interface TabLinksProps {
  /** The accessible name, such as `Agent`. */
  readonly label: string
  readonly tabs: readonly {
    readonly label: string
    readonly to: NonNullable<LinkProps['to']>
  }[]
  readonly params: LinkProps['params']
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
