import { STATUS_WORDS } from '@countersign/ui'
import { Link } from '@tanstack/react-router'
import type { AgentsFilter } from '../../agents/queries.ts'
import { buttonClass } from '../../components/button.tsx'

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

function kind({ search, status, grade }: AgentsFilter): string {
  return [
    status && STATUS_WORDS[status].toLowerCase(),
    'agent',
    grade && `with grade ${grade}`,
    search && `that contains “${search}”`,
  ]
    .filter(Boolean)
    .join(' ')
}
