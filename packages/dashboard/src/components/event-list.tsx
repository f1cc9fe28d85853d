import type { ReactNode } from 'react'

interface EventListProps<E> {
  readonly events: readonly E[]
  readonly keyOf: (event: E) => string | number
  readonly children: (event: E) => ReactNode
}

/** A timeline. */
export function EventList<E>({ events, keyOf, children }: EventListProps<E>) {
  return (
    <ol className="flex flex-col gap-5 border-line border-l-2 pl-5">
      {events.map((event) => (
        <li key={keyOf(event)} className="relative min-w-0">
          <span
            aria-hidden="true"
            className="absolute top-2 -left-6.5 size-2.5 rounded-full border-2 border-surface bg-line-strong"
          />
          {children(event)}
        </li>
      ))}
    </ol>
  )
}
