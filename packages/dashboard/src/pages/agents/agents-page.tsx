import { STATUS_WORDS } from '@countersign/ui'
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type AgentsFilter, agentsQuery } from '../../agents/queries.ts'
import { useService } from '../../agents/use-service.ts'
import { organisation } from '../../api/acting-for.ts'
import { identityQuery } from '../../api/queries.ts'
import { useMay } from '../../api/use-may.ts'
import { Button, buttonClass } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Page } from '../../components/page.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { AgentList } from './agent-list.tsx'
import { BulkBar } from './bulk-bar.tsx'
import { Filters } from './filters.tsx'
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
  const may = useMay()
  const none = counts !== undefined && live + counts.revoked === 0

  return (
    <Page
      title="Agents"
      actions={
        <div className="flex flex-wrap gap-3">
          <Link to="/enrolment" className={buttonClass()}>
            Enrolment
          </Link>
          <Link to="/transfers" className={buttonClass()}>
            Transfers
          </Link>
          {!none && may('manager') && (
            <Link to="/claim" className={buttonClass('primary')}>
              Claim an agent
            </Link>
          )}
        </div>
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
          {live > 0 && may('admin') && <RevokeAll count={live} />}
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
        <div className="grid gap-4 sm:grid-cols-[minmax(0,1fr)_7rem_10rem]">
          <Skeleton className="h-19" />
          <Skeleton className="h-19" />
          <Skeleton className="h-19" />
        </div>
        <Skeleton className="h-22 min-[25rem]:h-10 sm:max-w-md" />
      </div>
      <Skeleton className="h-80 rounded-2xl" />
    </>
  )
}

/** Shown to owners without agents. The checklist above lists the steps. */
export function NoAgents() {
  const identity = useQuery(identityQuery)
  const { name } = useService()
  const may = useMay()
  const verified = identity.data?.verifications.some((each) => !each.expired)

  return (
    <div className="flex flex-col items-start gap-5 rounded-2xl border border-line-strong border-dashed p-6 sm:p-10">
      <h2 className="font-semibold text-xl tracking-tight">No agents yet</h2>
      <p className="max-w-2xl text-pretty text-soft">
        {name} issues a certificate to each of your agents. It names{' '}
        {organisation === null ? 'you' : 'the organisation'} as the verified owner, and the agent
        proves possession of its key. You can revoke it at any time.
      </p>
      <ErrorNote error={identity.error} onRetry={() => void identity.refetch()} />
      {identity.isPending && <Skeleton className="h-11 w-52" />}
      {verified === true && may('manager') && (
        <Link to="/claim" state={{ createToken: true }} className={buttonClass('primary')}>
          Create claim token
        </Link>
      )}
      {verified === false && may('admin') && (
        <Link to="/identity" className={buttonClass('primary')}>
          {organisation === null ? 'Verify your identity' : 'Verify the organisation'}
        </Link>
      )}
    </div>
  )
}

interface NoMatchesProps {
  readonly filter: AgentsFilter
  /** There are further pages that were not searched yet. */
  readonly more: boolean
}

export function NoMatches({ filter, more }: NoMatchesProps) {
  return (
    <div className="flex flex-col items-start gap-4 rounded-2xl border border-line-strong border-dashed p-6 sm:p-10">
      <h2 className="font-semibold text-xl tracking-tight">No agent matches</h2>
      <p className="max-w-xl text-pretty text-soft">
        You have no {kind(filter)}
        {more && ' among your newest agents'}. The search covers names, usernames, labels,
        descriptions and DIDs.
      </p>
      <Link to="/agents" search={{}} className={buttonClass()}>
        Show all agents
      </Link>
    </div>
  )
}

function kind({ search, status, grade, responsible, enrolled }: AgentsFilter): string {
  return [
    status && STATUS_WORDS[status].toLowerCase(),
    'agent',
    enrolled &&
      (enrolled === 'only' ? 'that a workload has enrolled' : 'that no workload has enrolled'),
    grade && `with grade ${grade}`,
    responsible && (responsible === 'none' ? 'without a responsible person' : 'of this member'),
    search && `that contains “${search}”`,
  ]
    .filter(Boolean)
    .join(' ')
}
