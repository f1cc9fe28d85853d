import { useInfiniteQuery } from '@tanstack/react-query'
import { eventSentences } from '../../agents/event-sentences.ts'
import { historyQuery } from '../../agents/queries.ts'
import { useKindLabel } from '../../channels/queries.ts'
import { Button } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Section } from '../../components/page.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'

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
                <DateTime at={event.at} as="minute" />
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
