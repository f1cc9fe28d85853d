import { AGENT_STATUSES, type OwnerAgents } from '@countersign/protocol'
import { STATUS_WORDS } from '@countersign/ui'
import { Link, useNavigate } from '@tanstack/react-router'
import type { AgentsFilter } from '../../agents/queries.ts'
import { SelectField } from '../../components/field.tsx'
import { SearchField } from './search-field.tsx'
import { filterOf, GRADES } from './use-agents-filter.ts'

interface FiltersProps {
  readonly filter: AgentsFilter
  readonly counts: OwnerAgents['counts']
}

const TAB =
  'inline-flex min-h-10 items-center gap-2 rounded-full border border-line bg-surface px-4 font-medium text-soft no-underline hover:border-line-strong hover:text-ink aria-[current=page]:border-accent aria-[current=page]:bg-accent-wash aria-[current=page]:text-accent'

/** The filters, which are stored in the URL. */
export function Filters({ filter, counts }: FiltersProps) {
  const navigate = useNavigate()
  const show = (next: AgentsFilter) =>
    void navigate({ to: '/agents', search: next, replace: true, resetScroll: false })
  const total = counts.active + counts.suspended + counts.revoked

  return (
    <search aria-label="Agents" className="flex flex-col gap-4">
      <div className="grid gap-4 sm:grid-cols-[minmax(0,1fr)_10rem]">
        <SearchField
          value={filter.search ?? ''}
          onChange={(search) => show(filterOf({ ...filter, search }))}
        />
        <SelectField
          label="Grade"
          value={filter.grade ?? ''}
          onChange={({ target }) =>
            show(filterOf({ ...filter, grade: GRADES.find((each) => each === target.value) }))
          }
        >
          <option value="">Any</option>
          {GRADES.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </SelectField>
      </div>
      <nav aria-label="Status" className="flex flex-wrap gap-2">
        {([undefined, ...AGENT_STATUSES] as const).map((status) => (
          <Link
            key={status ?? 'all'}
            to="/agents"
            search={filterOf({ ...filter, status })}
            resetScroll={false}
            activeOptions={{ exact: true }}
            className={TAB}
          >
            {status === undefined ? 'All' : STATUS_WORDS[status]}
            <span className="text-sm tabular-nums">
              {(status === undefined ? total : counts[status]).toLocaleString('en')}
            </span>
          </Link>
        ))}
      </nav>
    </search>
  )
}
