import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { agentsQuery } from '../../agents/queries.ts'
import { useService } from '../../agents/use-service.ts'
import { ErrorNote } from '../../components/error-note.tsx'
import { CheckField } from '../../components/field.tsx'
import { NextPageButton } from '../../components/next-page-button.tsx'
import { Section } from '../../components/page.tsx'
import { SearchField } from '../../components/search-field.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { type OfferedAgent, offeredAgent } from './offered-agent.ts'
import { agentCount } from './texts.ts'

interface AgentChoiceProps {
  /** Chosen on arrival, and listed first. */
  readonly initial: readonly OfferedAgent[]
  /** By DID. */
  readonly chosen: ReadonlyMap<string, OfferedAgent>
  readonly onChange: (chosen: ReadonlyMap<string, OfferedAgent>) => void
}

/** Chooses agents to offer. Revoked ones cannot move, nor can those that workloads have enrolled. */
export function AgentChoice({ initial, chosen, onChange }: AgentChoiceProps) {
  const service = useService()
  const [search, setSearch] = useState('')
  const filter = { enrolled: 'exclude', ...(search !== '' && { search }) } as const
  const list = useInfiniteQuery({ ...agentsQuery(filter), placeholderData: keepPreviousData })
  const listed =
    list.data?.pages.flatMap(({ agents }) => agents.map((each) => offeredAgent(service, each))) ??
    []
  const first = search === '' ? initial : []
  const others = listed.filter(({ did }) => !first.some((each) => each.did === did))
  const agents = [...first, ...others].filter(({ status }) => status !== 'revoked')

  function choose(agent: OfferedAgent, isChosen: boolean) {
    const changed = new Map(chosen)
    if (isChosen) changed.set(agent.did, agent)
    else changed.delete(agent.did)
    onChange(changed)
  }

  return (
    <Section title="Agents">
      <SearchField value={search} onChange={setSearch} />
      <p role="status">
        {chosen.size === 0 ? 'No agents chosen' : `${agentCount(chosen.size)} chosen`}
      </p>
      <ErrorNote error={list.error} onRetry={() => void list.refetch()} />
      {list.isPending && (
        <>
          <Loading what="your agents" />
          <Skeleton className="h-40" />
        </>
      )}
      {list.data && agents.length === 0 && <p>No agent matches.</p>}
      {agents.length > 0 && (
        <ul aria-label="Agents" className="grid max-h-96 gap-x-6 overflow-y-auto sm:grid-cols-2">
          {agents.map((each) => (
            <li key={each.did} className="min-w-0">
              <CheckField
                label={
                  <span className="wrap-anywhere">
                    {each.name}
                    <span className="block text-soft text-sm">
                      Grade {each.grade}
                      {each.status === 'suspended' && ' · suspended'}
                      <span className="block break-all font-mono text-xs">{each.did}</span>
                    </span>
                  </span>
                }
                checked={chosen.has(each.did)}
                onChange={({ target }) => choose(each, target.checked)}
              />
            </li>
          ))}
        </ul>
      )}
      <NextPageButton list={list}>Show more agents</NextPageButton>
    </Section>
  )
}
