import type { OwnerAgent } from '@countersign/protocol'
import { GradeMark, StatusMark } from '@countersign/ui'
import { Link } from '@tanstack/react-router'
import { AgentPicture } from '../../agents/agent-picture.tsx'
import { didOf } from '../../agents/did.ts'
import { useService } from '../../agents/use-service.ts'
import { DateTime } from '../../components/date-time.tsx'
import type { Selection } from './use-selection.ts'

const COLUMNS = 'md:grid-cols-[1.25rem_3rem_minmax(0,1fr)_3rem_8.5rem_10rem_9rem]'

interface AgentListProps {
  readonly agents: readonly OwnerAgent[]
  /** The list still shows the previous filter's result. */
  readonly stale: boolean
  readonly selection: Selection
}

/** A table on wide screens, cards on narrow ones. */
export function AgentList({ agents, stale, selection }: AgentListProps) {
  const service = useService()
  return (
    <div
      aria-busy={stale}
      className={`overflow-hidden rounded-2xl border border-line bg-surface transition-opacity ${stale ? 'opacity-60' : ''}`}
    >
      <div
        aria-hidden="true"
        className={`hidden gap-x-5 border-line border-b px-6 py-3 text-soft text-sm md:grid ${COLUMNS}`}
      >
        <span className="col-span-2 col-start-2">Agent</span>
        <span>Grade</span>
        <span>Status</span>
        <span>Owner’s identity</span>
        <span>Claimed</span>
      </div>
      <ul className="divide-y divide-line">
        {agents.map((agent) => {
          const did = didOf(service, agent)
          return <Row key={did} did={did} agent={agent} selection={selection} />
        })}
      </ul>
    </div>
  )
}

interface RowProps {
  readonly did: string
  readonly agent: OwnerAgent
  readonly selection: Selection
}

function Row({ did, agent, selection }: RowProps) {
  const { status } = agent
  return (
    <li
      className={`relative grid grid-cols-[1.25rem_3rem_minmax(0,1fr)_auto] items-center gap-x-4 gap-y-3 px-5 py-4 hover:bg-paper has-focus-visible:bg-paper md:gap-x-5 md:px-6 ${COLUMNS}`}
    >
      {/* Above the link that covers the row, with a margin that is easy to hit. */}
      <label className="relative z-10 -m-3 grid cursor-pointer p-3">
        <input
          type="checkbox"
          aria-label={`Select ${agent.displayName}`}
          className="size-5 accent-accent"
          checked={selection.has(did)}
          onChange={({ target }) => selection.set(did, target.checked)}
        />
      </label>
      <AgentPicture src={agent.avatarUrl} status={status} className="size-12 rounded-xl" />
      <div className="min-w-0">
        {/* The whole row is clickable, but only the name is the link, for a short accessible name. */}
        <Link
          to="/agents/$did"
          params={{ did }}
          className="block truncate font-semibold text-ink no-underline after:absolute after:inset-0 hover:text-accent"
        >
          {agent.displayName}
        </Link>
        <p className="truncate text-soft text-sm">
          {agent.username !== null && <>@{agent.username} · </>}
          <span className="sr-only">label: </span>
          {agent.agentId}
        </p>
      </div>
      <GradeMark grade={agent.grade} status={status} />
      <div className="col-span-4 flex flex-wrap items-center gap-x-4 gap-y-2 text-sm md:contents">
        <div>
          <StatusMark status={status} />
        </div>
        <p className="min-w-0 wrap-anywhere">
          <span className="text-soft md:sr-only">Identity: </span>
          {agent.verification?.label ?? <span className="text-soft">Not verified</span>}
        </p>
        <p className="text-soft">
          <span className="md:sr-only">Claimed </span>
          <DateTime at={agent.claimedAt} />
        </p>
      </div>
    </li>
  )
}
