import {
  AGENT_ORDERS,
  AGENT_STATUSES,
  type AgentOrder,
  type OwnerAgents,
} from '@countersign/protocol'
import { STATUS_WORDS } from '@countersign/ui'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { AgentsFilter } from '../../agents/queries.ts'
import { organisation } from '../../api/acting-for.ts'
import { SelectField } from '../../components/field.tsx'
import { FilterLinks } from '../../components/filter-links.tsx'
import { SearchField } from '../../components/search-field.tsx'
import { membersQuery } from '../../organisations/queries.ts'
import { ENROLLED, filterOf, GRADES } from './use-agents-filter.ts'

const ORDER_NAMES: Readonly<Record<AgentOrder, string>> = {
  newest: 'Newest',
  name: 'Name',
  grade: 'Weakest grade',
}

/** The orders that the URL names. */
const SORTED = AGENT_ORDERS.filter((each) => each !== 'newest')

const ENROLLED_NAMES = { only: 'Enrolled', exclude: 'Not enrolled' } as const

const COLUMNS =
  organisation === null
    ? '@2xl:grid-cols-[minmax(0,1fr)_6rem_10rem_10rem]'
    : '@2xl:grid-cols-[minmax(0,1fr)_6rem_10rem_10rem] @4xl:grid-cols-[minmax(0,1fr)_6rem_10rem_10rem_11rem]'

interface FiltersProps {
  readonly filter: AgentsFilter
  readonly counts: OwnerAgents['counts']
}

/** The filters, which are stored in the URL. */
export function Filters({ filter, counts }: FiltersProps) {
  const navigate = useNavigate()
  const show = (next: AgentsFilter) =>
    void navigate({ to: '/agents', search: next, replace: true, resetScroll: false })
  const total = counts.active + counts.suspended + counts.revoked

  return (
    <search aria-label="Agents" className="@container flex flex-col gap-4">
      <div className={`grid grid-cols-2 gap-4 ${COLUMNS}`}>
        <div className="col-span-2 @2xl:col-span-1">
          <SearchField
            value={filter.search ?? ''}
            onChange={(search) => show(filterOf({ ...filter, search }))}
          />
        </div>
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
        <SelectField
          label="Sort by"
          value={filter.sort ?? 'newest'}
          onChange={({ target }) =>
            show(filterOf({ ...filter, sort: SORTED.find((each) => each === target.value) }))
          }
        >
          {AGENT_ORDERS.map((each) => (
            <option key={each} value={each}>
              {ORDER_NAMES[each]}
            </option>
          ))}
        </SelectField>
        <div className={organisation === null ? 'col-span-2 @2xl:col-span-1' : ''}>
          <SelectField
            label="Enrolment"
            value={filter.enrolled ?? ''}
            onChange={({ target }) =>
              show(
                filterOf({ ...filter, enrolled: ENROLLED.find((each) => each === target.value) }),
              )
            }
          >
            <option value="">Any</option>
            {ENROLLED.map((each) => (
              <option key={each} value={each}>
                {ENROLLED_NAMES[each]}
              </option>
            ))}
          </SelectField>
        </div>
        {organisation !== null && (
          <ResponsibleField
            value={filter.responsible}
            onChange={(responsible) => show(filterOf({ ...filter, responsible }))}
          />
        )}
      </div>
      <FilterLinks
        label="Status"
        to="/agents"
        options={([undefined, ...AGENT_STATUSES] as const).map((status) => ({
          label: status === undefined ? 'All' : STATUS_WORDS[status],
          count: status === undefined ? total : counts[status],
          search: filterOf({ ...filter, status }),
        }))}
      />
    </search>
  )
}

interface ResponsibleFieldProps {
  /** Undefined: any. */
  readonly value: string | undefined
  readonly onChange: (value: string | undefined) => void
}

/** Filters the agents of an organisation by who is responsible for them. */
function ResponsibleField({ value, onChange }: ResponsibleFieldProps) {
  const members = useQuery(membersQuery).data?.members ?? []
  const isListed = value === undefined || value === 'none' || members.some(({ id }) => id === value)
  return (
    <SelectField
      label="Responsible"
      value={value ?? ''}
      onChange={({ target }) => onChange(target.value === '' ? undefined : target.value)}
    >
      <option value="">Anyone</option>
      <option value="none">Nobody</option>
      {/* Until the members are loaded, or a member who has left. */}
      {!isListed && <option value={value}>…</option>}
      {members.map(({ id, displayName }) => (
        <option key={id} value={id}>
          {displayName}
        </option>
      ))}
    </SelectField>
  )
}
