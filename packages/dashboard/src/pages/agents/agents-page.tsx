import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { agentsQuery } from '../../agents/queries.ts'
import { Button, buttonClass } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Page } from '../../components/page.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { AgentList } from './agent-list.tsx'
import { BulkBar } from './bulk-bar.tsx'
import { Filters } from './filters.tsx'
import { NoAgents } from './no-agents.tsx'
import { NoMatches } from './no-matches.tsx'
import { RevokeAll } from './revoke-all.tsx'
import { useAgentsFilter } from './use-agents-filter.ts'
import { useSelection } from './use-selection.ts'

export function AgentsPage() {
  const filter = useAgentsFilter()
  const list = useInfiniteQuery({ ...agentsQuery(filter), placeholderData: keepPreviousData })
  const agents = list.data?.pages.flatMap((page) => page.agents) ?? []
  const selection = useSelection(agents)
  const counts = list.data?.pages[0]?.counts
  const live = counts ? counts.active + counts.suspended : 0
  const none = counts !== undefined && live + counts.revoked === 0

  return (
    <Page
      title="Agents"
      {...(!none && { lead: 'Your agents, newest first.' })}
      actions={
        !none && (
          <Link to="/claim" className={buttonClass('primary')}>
            Claim an agent
          </Link>
        )
      }
    >
      <ErrorNote error={list.error} onRetry={() => void list.refetch()} />
      {list.isPending && <ListSkeleton />}
      {none && <NoAgents />}
      {counts && !none && (
        <>
          <Filters filter={filter} counts={counts} />
          <p role="status" className="sr-only">
            {list.isPlaceholderData ? '' : found(agents.length, list.hasNextPage)}
          </p>
          {agents.length > 0 ? (
            <>
              <BulkBar agents={agents} selection={selection} />
              <AgentList agents={agents} stale={list.isPlaceholderData} selection={selection} />
            </>
          ) : (
            <NoMatches filter={filter} more={list.hasNextPage} />
          )}
          {list.hasNextPage && (
            <Button
              className="self-center"
              pending={list.isFetchingNextPage}
              onClick={() => void list.fetchNextPage()}
            >
              Show more agents
            </Button>
          )}
          {live > 0 && <RevokeAll count={live} />}
        </>
      )}
    </Page>
  )
}

function found(count: number, more: boolean): string {
  if (count === 0) return 'No agent matches.'
  const agents = count === 1 ? '1 agent' : `${count} agents`
  return more ? `${agents} shown, and there are more.` : `${agents} shown.`
}

function ListSkeleton() {
  return (
    <>
      <Loading what="your agents" />
      <div className="flex flex-col gap-4">
        <div className="grid gap-4 sm:grid-cols-[minmax(0,1fr)_10rem]">
          <Skeleton className="h-19" />
          <Skeleton className="h-19" />
        </div>
        <Skeleton className="h-22 min-[25rem]:h-10 sm:max-w-md" />
      </div>
      <Skeleton className="h-80 rounded-2xl" />
    </>
  )
}
