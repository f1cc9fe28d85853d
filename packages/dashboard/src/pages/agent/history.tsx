import { useInfiniteQuery } from '@tanstack/react-query'
import { eventSentences } from '../../agents/event-sentence.ts'
import { historyQuery } from '../../agents/queries.ts'
import { useKindLabel } from '../../channels/queries.ts'
import { Button } from '../../parts/button.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { Moment } from '../../parts/moment.tsx'
import { Section } from '../../parts/page.tsx'
import { Loading, Skeleton } from '../../parts/skeleton.tsx'

/** What has happened to the agent, newest first. */
export function History({ did }: { readonly did: string }) {
  const history = useInfiniteQuery(historyQuery(did))
  const labelOf = useKindLabel()
  const events = history.data?.pages.flatMap((page) => page.events) ?? []
  return (
    <Section title="History" lead="What was recorded of this agent, newest first.">
      <ErrorNote error={history.error} onRetry={() => void history.refetch()} />
      {history.isPending && (
        <>
          <Loading what="the history" />
          <Skeleton className="h-16" />
        </>
      )}
      {events.length > 0 && (
        <ol className="flex flex-col gap-5 border-line border-l-2 pl-5">
          {events.map((event) => (
            <li key={event.seq} className="relative">
              <span
                aria-hidden="true"
                className="absolute top-2 -left-6.5 size-2.5 rounded-full border-2 border-surface bg-line-strong"
              />
              {eventSentences(event, labelOf).map((each) => (
                <p key={each} className="wrap-anywhere">
                  {each}
                </p>
              ))}
              <p className="text-soft text-sm">
                <Moment at={event.at} as="minute" />
              </p>
            </li>
          ))}
        </ol>
      )}
      {history.hasNextPage && (
        <Button
          size="small"
          className="self-start"
          pending={history.isFetchingNextPage}
          onClick={() => void history.fetchNextPage()}
        >
          Show older entries
        </Button>
      )}
    </Section>
  )
}
