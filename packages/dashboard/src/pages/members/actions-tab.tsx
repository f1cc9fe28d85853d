import { useInfiniteQuery } from '@tanstack/react-query'
import { DateTime } from '../../components/date-time.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { EventList } from '../../components/event-list.tsx'
import { NextPageButton } from '../../components/next-page-button.tsx'
import { Section } from '../../components/page.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { actionText } from '../../organisations/action-texts.ts'
import { actionsQuery } from '../../organisations/queries.ts'

/** What members did for the organisation. */
export function ActionsTab() {
  const list = useInfiniteQuery(actionsQuery)
  const actions = list.data?.pages.flatMap((page) => page.actions) ?? []
  return (
    <Section
      title="Actions"
      lead="Who changed something in the last 400 days, newest first. The activity shows what became of it."
    >
      <ErrorNote error={list.error} onRetry={() => void list.refetch()} />
      {list.isPending && (
        <>
          <Loading what="the actions" />
          <Skeleton className="h-40" />
        </>
      )}
      {list.isSuccess && actions.length === 0 && <p>No actions yet</p>}
      {actions.length > 0 && (
        <EventList
          events={actions.map((each, index) => ({ ...each, index }))}
          keyOf={({ index }) => index}
        >
          {({ member, operation, at, apiKey }) => (
            <>
              <p className="wrap-anywhere">
                <span className="font-medium">{member.displayName ?? 'A deleted account'}</span>
                {apiKey !== null && ', with an API key'}: {actionText(operation)}
              </p>
              <p className="text-soft text-sm">
                <DateTime at={at} as="minute" />
              </p>
            </>
          )}
        </EventList>
      )}
      <NextPageButton list={list}>Show older actions</NextPageButton>
    </Section>
  )
}
