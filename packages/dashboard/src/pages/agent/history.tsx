import type { HistoryQuery } from '@countersign/protocol'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { eventSentences } from '../../agents/event-sentences.ts'
import { historyQuery } from '../../agents/queries.ts'
import { useKindLabel } from '../../channels/queries.ts'
import { DateTime } from '../../components/date-time.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { EventList } from '../../components/event-list.tsx'
import { NextPageButton } from '../../components/next-page-button.tsx'
import { Section } from '../../components/page.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'

export function History({ did }: { readonly did: string }) {
  return (
    <Section
      title="Activity"
      lead="Events of this agent, newest first."
      actions={
        <Link to="/activity" className="text-accent underline">
          Activity of all agents
        </Link>
      }
    >
      <Events did={did} />
    </Section>
  )
}

interface EventsProps {
  readonly did: string
  /** Only events of it. */
  readonly type?: NonNullable<HistoryQuery['type']>
}

/** The events of an agent, newest first. */
export function Events({ did, type }: EventsProps) {
  const history = useInfiniteQuery(historyQuery(did, type))
  const labelOf = useKindLabel()
  const events = history.data?.pages.flatMap((page) => page.events) ?? []
  return (
    <>
      <ErrorNote error={history.error} onRetry={() => void history.refetch()} />
      {history.isPending && (
        <>
          <Loading what="the activity" />
          <Skeleton className="h-16" />
        </>
      )}
      {history.isSuccess && events.length === 0 && <p>No changes yet</p>}
      {events.length > 0 && (
        <EventList events={events} keyOf={({ seq }) => seq}>
          {(event) => (
            <>
              {eventSentences(event, labelOf).map((each) => (
                <p key={each} className="wrap-break-word">
                  {each}
                </p>
              ))}
              <p className="text-soft text-sm">
                <DateTime at={event.at} as="minute" />
              </p>
            </>
          )}
        </EventList>
      )}
      <NextPageButton list={history}>Show older events</NextPageButton>
    </>
  )
}
