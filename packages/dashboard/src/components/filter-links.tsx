import { Link, type LinkProps } from '@tanstack/react-router'

interface FilterLinksProps {
  /** The accessible name, such as `Status`. */
  readonly label: string
  readonly to: NonNullable<LinkProps['to']>
  readonly options: readonly {
    readonly label: string
    readonly search: object
    readonly count?: number
  }[]
}

const PILL =
  'inline-flex min-h-10 items-center gap-2 rounded-full border border-line bg-surface px-4 font-medium text-soft no-underline hover:border-line-strong hover:text-ink aria-[current=page]:border-accent aria-[current=page]:bg-accent-wash aria-[current=page]:text-accent'

/** Filters that the URL holds, one link for each value. */
export function FilterLinks({ label, to, options }: FilterLinksProps) {
  return (
    <nav aria-label={label} className="flex flex-wrap gap-2">
      {options.map((option) => (
        <Link
          key={option.label}
          to={to}
          search={option.search as never}
          resetScroll={false}
          activeOptions={{ exact: true }}
          className={PILL}
        >
          {option.label}
          {option.count !== undefined && (
            <span className="text-sm tabular-nums">{option.count.toLocaleString('en')}</span>
          )}
        </Link>
      ))}
    </nav>
  )
}
