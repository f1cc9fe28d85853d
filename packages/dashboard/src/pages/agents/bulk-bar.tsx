import type { OwnerAgent, SessionState } from '@countersign/protocol'
import { Link } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { toCsv } from '../../agents/csv.ts'
import { didOf } from '../../agents/did.ts'
import { useService } from '../../agents/use-service.ts'
import { useMay } from '../../api/use-may.ts'
import { Button, buttonClass } from '../../components/button.tsx'
import { saveFile } from '../../components/save-file.ts'
import { toast } from '../../components/toast.tsx'
import { offeredAgent } from '../transfers/offered-agent.ts'
import type { BulkChange } from './bulk-change.ts'
import { BulkDialog } from './bulk-dialog.tsx'
import type { Selection } from './use-selection.ts'

interface BulkBarProps {
  /** All agents that are listed. */
  readonly agents: readonly OwnerAgent[]
  readonly selection: Selection
}

/** Selects all listed agents, and acts on those that are selected. */
export function BulkBar({ agents, selection }: BulkBarProps) {
  const service = useService()
  const may = useMay()
  const [change, setChange] = useState<BulkChange>('suspend')
  const [open, setOpen] = useState(false)
  const all = useRef<HTMLInputElement>(null)
  const { selected } = selection
  // The owner of an enrolled agent cannot change.
  const movable = selected.filter(({ enrolment }) => enrolment === null)
  const some = selected.length > 0 && selected.length < agents.length
  const openDialog = (next: BulkChange) => {
    setChange(next)
    setOpen(true)
  }
  const exported = (save: () => void) => {
    save()
    toast(`Exported ${selected.length === 1 ? '1 agent' : `${selected.length} agents`}.`)
  }

  return (
    <section
      aria-label="Selection"
      className="flex flex-wrap items-center gap-x-4 gap-y-3 rounded-2xl border border-line bg-surface px-5 py-2.5 md:px-6"
    >
      <label className="flex min-h-9 cursor-pointer items-center gap-3">
        <input
          ref={(input) => {
            all.current = input
            if (input) input.indeterminate = some
          }}
          type="checkbox"
          className="size-5 shrink-0 accent-accent"
          checked={selected.length > 0 && !some}
          onChange={({ target }) => selection.setAll(target.checked)}
        />
        {selected.length === 0 ? 'Select all listed' : `${selected.length} selected`}
      </label>
      {selected.length > 0 && (
        <div className="flex flex-wrap gap-2">
          {may('responder') && (
            <>
              <Button size="small" onClick={() => openDialog('suspend')}>
                Suspend …
              </Button>
              <Button size="small" variant="warning" onClick={() => openDialog('revoke')}>
                Revoke …
              </Button>
            </>
          )}
          {may('admin') && movable.length > 0 && (
            <Link
              to="/transfers/new"
              state={{ offer: movable.map((agent) => offeredAgent(service, agent)) }}
              className={buttonClass('secondary', 'small')}
            >
              Transfer …
            </Link>
          )}
          <Button size="small" onClick={() => exported(() => exportJson(selected))}>
            Export JSON
          </Button>
          <Button size="small" onClick={() => exported(() => exportCsv(selected, service))}>
            Export CSV
          </Button>
          <Button
            size="small"
            variant="quiet"
            onClick={() => {
              selection.setAll(false)
              all.current?.focus()
            }}
          >
            Clear
          </Button>
        </div>
      )}
      <BulkDialog
        change={change}
        selected={selected}
        open={open}
        onClose={() => setOpen(false)}
        onDone={selection.remove}
      />
    </section>
  )
}

type Service = SessionState['service']

function exportJson(agents: readonly OwnerAgent[]): void {
  saveFile('agents.json', `${JSON.stringify(agents, null, 2)}\n`, 'application/json')
}

function exportCsv(agents: readonly OwnerAgent[], service: Service): void {
  saveFile('agents.csv', agentsCsv(agents, service), 'text/csv')
}

const COLUMNS = [
  'did',
  'label',
  'display_name',
  'username',
  'description',
  'status',
  'status_reason',
  'grade',
  'claimed_at',
  'key_thumbprint',
  'certificate_url',
]

/** One row for each agent. */
function agentsCsv(agents: readonly OwnerAgent[], service: Service): string {
  const rows = agents.map((agent) => [
    didOf(service, agent),
    agent.agentId,
    agent.displayName,
    agent.username ?? '',
    agent.description,
    agent.status,
    agent.statusReason ?? '',
    agent.grade,
    agent.claimedAt,
    agent.keyThumbprint,
    agent.certificateUrl,
  ])
  return toCsv(COLUMNS, rows)
}
