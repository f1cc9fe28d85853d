import { ACTIVITY_KINDS, type Activity, type ActivityKind } from '@countersign/protocol'
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { didIn } from '../../agents/did.ts'
import { eventSentences } from '../../agents/event-sentences.ts'
import { activityQuery } from '../../agents/queries.ts'
import { useService } from '../../agents/use-service.ts'
import { organisation } from '../../api/acting-for.ts'
import { useKindLabel } from '../../channels/queries.ts'
import { Button } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { EventList } from '../../components/event-list.tsx'
import { FilterLinks } from '../../components/filter-links.tsx'
import { Page } from '../../components/page.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'

const route = getRouteApi('/signed-in/activity')

const LEAD =
  organisation === null
    ? 'Sign-ins and events of your account and all your agents, newest first.'
    : 'Events of the organisation and all its agents, newest first.'

const KIND_NAMES: Readonly<Record<ActivityKind, string>> = {
  agent: 'Agents',
  channel: 'Channels',
  owner: organisation === null ? 'Account' : 'Organisation',
}

/** The events of the account and all its agents. */
export function ActivityPage() {
  const { kind: wanted } = route.useSearch()
  const kind = ACTIVITY_KINDS.find((each) => each === wanted) ?? null
  const list = useInfiniteQuery({ ...activityQuery(kind), placeholderData: keepPreviousData })
  const events = list.data?.pages.flatMap((page) => page.events) ?? []

  return (
    <Page title="Activity" lead={LEAD}>
      <FilterLinks
        label="Kind of event"
        to="/activity"
        options={[null, ...ACTIVITY_KINDS].map((each) => ({
          label: each === null ? 'All' : KIND_NAMES[each],
          search: each === null ? {} : { kind: each },
        }))}
      />
      <ErrorNote error={list.error} onRetry={() => void list.refetch()} />
      {list.isPending && (
        <>
          <Loading what="the activity" />
          <Skeleton className="h-96 rounded-2xl" />
        </>
      )}
      {list.data !== undefined && events.length === 0 && <p>No events of this kind yet.</p>}
      {events.length > 0 && (
        <div
          aria-busy={list.isPlaceholderData}
          className={`rounded-2xl border border-line bg-surface p-5 transition-opacity sm:p-7 ${list.isPlaceholderData ? 'opacity-60' : ''}`}
        >
          <EventList events={events} keyOf={({ id }) => id}>
            {(event) => <Entry event={event} />}
          </EventList>
        </div>
      )}
      {list.hasNextPage && (
        <Button
          className="self-center"
          pending={list.isFetchingNextPage}
          onClick={() => void list.fetchNextPage()}
        >
          Show older events
        </Button>
      )}
    </Page>
  )
}

type Event = Activity['events'][number]

function Entry({ event }: { readonly event: Event }) {
  const { shortName } = useService()
  const labelOf = useKindLabel()
  const { agent } = event
  const did = agent && didIn(shortName, agent)
  return (
    <>
      <p className="text-sm">
        {agent !== null && did !== null ? (
          <Link
            to="/agents/$did"
            params={{ did }}
            className="font-medium text-accent underline wrap-break-word"
          >
            {agent.displayName}
          </Link>
        ) : (
          <span className="font-medium">
            {organisation === null ? 'Your account' : 'Organisation'}
          </span>
        )}
        <span className="text-soft">
          {' · '}
          <DateTime at={event.at} as="minute" />
        </span>
      </p>
      {eventSentences(event, labelOf).map((each) => (
        <p key={each} className="wrap-break-word">
          {each}
        </p>
      ))}
    </>
  )
}
