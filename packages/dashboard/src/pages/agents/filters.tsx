import {
  AGENT_ORDERS,
  AGENT_STATUSES,
  type AgentOrder,
  type OwnerAgents,
} from '@countersign/protocol'
import { STATUS_WORDS } from '@countersign/ui'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import type { AgentsFilter } from '../../agents/queries.ts'
import { SelectField, TextField } from '../../components/field.tsx'
import { FilterLinks } from '../../components/filter-links.tsx'
import { filterOf, GRADES } from './use-agents-filter.ts'

const ORDER_NAMES: Readonly<Record<AgentOrder, string>> = {
  newest: 'Newest',
  name: 'Name',
  grade: 'Weakest grade',
}

/** The orders that the URL names. */
const SORTED = AGENT_ORDERS.filter((each) => each !== 'newest')

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
      <div className="grid grid-cols-2 gap-4 @2xl:grid-cols-[minmax(0,1fr)_7rem_10rem]">
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

interface SearchFieldProps {
  readonly value: string
  readonly onChange: (value: string) => void
}

const PAUSE_MS = 250

/** Reports the search text when the user stops typing. */
function SearchField({ value, onChange }: SearchFieldProps) {
  const [text, setText] = useState(value)
  const reported = useRef(value)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)

  // The URL changed by navigation or a cleared filter. Text that is being typed is kept.
  useEffect(() => {
    if (value === reported.current) return
    reported.current = value
    setText(value)
  }, [value])

  useEffect(() => () => clearTimeout(timer.current), [])

  function onType(next: string) {
    setText(next)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      reported.current = next.trim()
      onChange(reported.current)
    }, PAUSE_MS)
  }

  return (
    <TextField
      type="search"
      label="Search"
      placeholder="Name, label, description or DID"
      value={text}
      onChange={(event) => onType(event.target.value)}
      maxLength={128}
      autoComplete="off"
      spellCheck={false}
    />
  )
}
