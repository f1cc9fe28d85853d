import type { Notification } from '@countersign/protocol'
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { organisation } from '../../api/acting-for.ts'
import { send } from '../../api/client.ts'
import { useMay } from '../../api/use-may.ts'
import { Button } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { NextPageButton } from '../../components/next-page-button.tsx'
import { Page } from '../../components/page.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { useAction } from '../../components/use-action.ts'
import { notificationsQuery } from './queries.ts'

const LINK = 'text-accent underline underline-offset-4 hover:text-accent-strong'

export function NotificationsPage() {
  const { data, error, isPending, refetch, ...list } = useInfiniteQuery(notificationsQuery)
  const notifications = data?.pages.flatMap((page) => page.notifications) ?? []
  const markRead = useMarkRead()
  const readAll = useAction(() => markRead())
  const may = useMay()
  return (
    <Page
      title="Notifications"
      lead={
        <>
          Expiring proofs, and security events of{' '}
          {organisation === null ? 'your account' : 'the organisation'}.{' '}
          {may('manager') && (
            <>
              <Link to="/account/notifications" className={LINK}>
                {may('admin') ? 'Choose which are also sent by e-mail' : 'E-mail settings'}
              </Link>
              .
            </>
          )}
        </>
      }
      actions={
        (data?.pages[0]?.unread ?? 0) > 0 &&
        may('responder') && (
          <Button size="small" pending={readAll.pending} onClick={() => readAll.run()}>
            Mark all as read
          </Button>
        )
      }
    >
      <ErrorNote error={error ?? readAll.error} onRetry={() => void refetch()} />
      {isPending && error === null && (
        <>
          <Loading what="your notifications" />
          <Skeleton className="h-40" />
        </>
      )}
      {data !== undefined && notifications.length === 0 && (
        <p className="rounded-2xl border border-line-strong border-dashed p-6 sm:p-10">
          No notifications yet
        </p>
      )}
      {notifications.length > 0 && (
        <ol className="flex flex-col gap-4">
          {notifications.map((each) => (
            <Item key={each.id} notification={each} markRead={markRead} />
          ))}
        </ol>
      )}
      <NextPageButton list={list}>Show older notifications</NextPageButton>
    </Page>
  )
}

function Item({
  notification,
  markRead,
}: {
  readonly notification: Notification
  readonly markRead: (id: string) => Promise<void>
}) {
  const { id, title, text, link, createdAt, readAt } = notification
  const read = useAction(() => markRead(id))
  const isUnread = readAt === null
  const may = useMay()
  return (
    <li
      className={`rounded-xl border bg-surface p-4 sm:p-5 ${isUnread ? 'border-accent border-l-4' : 'border-line'}`}
    >
      <h2 className="wrap-anywhere text-pretty font-semibold">
        {isUnread && <span className="sr-only">Unread: </span>}
        {title}
      </h2>
      <p className="mt-1 max-w-3xl wrap-anywhere text-pretty">{text}</p>
      <p className="mt-2 flex flex-wrap items-center gap-x-5 gap-y-2 text-soft text-sm">
        <DateTime at={createdAt} as="minute" />
        {link !== null && (
          <Link {...routeOf(link)} className={LINK}>
            Open
            <span className="sr-only">: {title}</span>
          </Link>
        )}
        {isUnread && may('responder') && (
          <button
            type="button"
            className={`cursor-pointer ${LINK}`}
            aria-label={`Mark as read: ${title}`}
            onClick={() => read.run()}
          >
            Mark as read
          </button>
        )}
      </p>
      <ErrorNote error={read.error} />
    </li>
  )
}

/** What a link of a notification is for the router, which adds the dashboard's prefix itself. */
function routeOf(link: string) {
  const { pathname, searchParams } = new URL(link, location.origin)
  const search = Object.fromEntries(searchParams)
  return { to: pathname.replace(/^\/dashboard/, ''), search: search as never }
}

/** @returns marks a notification as read, or all of them */
function useMarkRead(): (id?: string) => Promise<void> {
  const queries = useQueryClient()
  return async (id) => {
    await send('POST', '/api/account/notifications/read', id === undefined ? {} : { ids: [id] })
    await queries.invalidateQueries(notificationsQuery)
  }
}
