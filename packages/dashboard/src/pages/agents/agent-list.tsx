import type { ChannelTrouble, OwnerAgent, SessionState } from '@countersign/protocol'
import { GradeMark, StatusMark } from '@countersign/ui'
import { useSuspenseQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { AgentPicture } from '../../agents/agent-picture.tsx'
import { didOf, nameOf } from '../../agents/did.ts'
import { useService } from '../../agents/use-service.ts'
import { organisation } from '../../api/acting-for.ts'
import { sessionQuery } from '../../api/queries.ts'
import { DateTime } from '../../components/date-time.tsx'
import type { Selection } from './use-selection.ts'

const COLUMNS = '@4xl:grid-cols-[1.25rem_3rem_minmax(0,1fr)_3rem_8.5rem_10rem_9rem]'

const ATTENTION: Readonly<Record<ChannelTrouble, string>> = {
  stale: 'No longer verified',
  failing: 'Proof not found',
  ending: 'Expires soon',
}

interface AgentListProps {
  readonly agents: readonly OwnerAgent[]
  /** The list still shows the previous filter's result. */
  readonly stale: boolean
  readonly selection: Selection
}

/** A table if it is wide enough for the size of the text, otherwise cards. */
export function AgentList({ agents, stale, selection }: AgentListProps) {
  const service = useService()
  const { channelNotes } = useSuspenseQuery(sessionQuery).data
  return (
    <div
      aria-busy={stale}
      className={`@container overflow-hidden rounded-2xl border border-line bg-surface transition-opacity ${stale ? 'opacity-60' : ''}`}
    >
      <div
        aria-hidden="true"
        className={`hidden gap-x-5 border-line border-b px-6 py-3 text-soft text-sm @4xl:grid ${COLUMNS}`}
      >
        <span className="col-span-2 col-start-2">Agent</span>
        <span>Grade</span>
        <span>Status</span>
        <span>Channels</span>
        <span>{organisation === null ? 'Claimed' : 'Responsible'}</span>
      </div>
      <ul className="divide-y divide-line">
        {agents.map((agent) => {
          const did = didOf(service, agent)
          const note = channelNotes.find(({ tail }) => did.endsWith(tail))
          return <Row key={did} did={did} agent={agent} note={note} selection={selection} />
        })}
      </ul>
    </div>
  )
}

interface RowProps {
  readonly did: string
  readonly agent: OwnerAgent
  /** Its channel that needs attention. */
  readonly note: SessionState['channelNotes'][number] | undefined
  readonly selection: Selection
}

function Row({ did, agent, note, selection }: RowProps) {
  const { status, channels } = agent
  const name = nameOf(agent)
  const [first] = channels
  return (
    <li
      className={`relative grid grid-cols-[1.25rem_3rem_minmax(0,1fr)_auto] items-center gap-x-4 gap-y-3 px-5 py-4 hover:bg-paper has-focus-visible:bg-paper @4xl:gap-x-5 @4xl:px-6 ${COLUMNS}`}
    >
      {/* Above the link that covers the row, with a margin that is easy to hit. */}
      <label className="relative z-10 -m-3 grid cursor-pointer p-3">
        <input
          type="checkbox"
          aria-label={`Select ${name}`}
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
          className="wrap-anywhere block font-semibold @4xl:truncate text-ink no-underline after:absolute after:inset-0 hover:text-accent"
        >
          {name}
        </Link>
        <p className="wrap-anywhere text-soft text-sm @4xl:truncate">
          {name === agent.agentId ? (
            'Label, not named yet'
          ) : (
            <>
              {agent.username !== null && <>@{agent.username} · </>}
              <span className="sr-only">label: </span>
              {agent.agentId}
            </>
          )}
        </p>
      </div>
      <GradeMark grade={agent.grade} status={status} />
      <div className="col-span-4 flex flex-wrap items-center gap-x-4 gap-y-2 text-sm @4xl:contents">
        <div>
          <StatusMark status={status} />
        </div>
        <div className="min-w-0">
          <p className="wrap-anywhere @4xl:truncate">
            <span className="text-soft @4xl:sr-only">Channels: </span>
            {first === undefined ? (
              <span className="text-soft">None</span>
            ) : (
              `${first.handleOrDomain}${channels.length > 1 ? ` +${channels.length - 1}` : ''}`
            )}
          </p>
          {note !== undefined && (
            <p className="wrap-anywhere font-medium text-warn @4xl:truncate">
              {ATTENTION[note.trouble]}
              {note.handleOrDomain !== first?.handleOrDomain && `: ${note.handleOrDomain}`}
            </p>
          )}
        </div>
        {organisation === null ? (
          <p className="text-soft">
            <span className="@4xl:sr-only">Claimed </span>
            <DateTime at={agent.claimedAt} />
          </p>
        ) : (
          <p className="wrap-anywhere min-w-0 @4xl:truncate">
            <span className="text-soft @4xl:sr-only">Responsible: </span>
            <Responsible agent={agent} />
          </p>
        )}
      </div>
    </li>
  )
}

/** The responsible member. That there is none is no problem for a revoked agent. */
function Responsible({ agent: { responsible, status } }: { readonly agent: OwnerAgent }) {
  if (responsible !== null) return responsible.displayName
  return (
    <span className={status === 'revoked' ? 'text-soft' : 'font-medium text-warn'}>Nobody</span>
  )
}
