import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { notificationsQuery } from '../pages/notifications/queries.ts'

const MAX_SHOWN = 99

/** The link to the notifications, with the number of unread ones. */
export function NotificationBell() {
  const unread = useInfiniteQuery(notificationsQuery).data?.pages[0]?.unread ?? 0
  const count = unread > MAX_SHOWN ? `${MAX_SHOWN}+` : String(unread)
  return (
    <Link
      to="/notifications"
      aria-label={unread === 0 ? 'Notifications' : `Notifications, ${count} unread`}
      className="relative grid size-10 shrink-0 place-items-center rounded-lg text-soft hover:bg-sunken hover:text-ink data-[status=active]:text-ink"
    >
      <svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true" fill="none">
        <path
          d="M6 10a6 6 0 1 1 12 0c0 5 2 6 2 7H4c0-1 2-2 2-7Zm4 10a2 2 0 0 0 4 0"
          stroke="currentColor"
          strokeWidth="1.7"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
      </svg>
      {unread > 0 && (
        <span
          aria-hidden="true"
          className="absolute top-0 right-0 min-w-5 rounded-full bg-accent px-1 text-center font-semibold text-on-accent text-xs/5"
        >
          {count}
        </span>
      )}
    </Link>
  )
}
