import type { OrganisationSettings } from '@countersign/protocol'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { useMay } from '../../api/use-may.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { CheckField, TextField } from '../../components/field.tsx'
import { SheetSection } from '../../components/sheet.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { submitHandler } from '../../components/submit-handler.ts'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'
import { SETTINGS_PATH, settingsQuery } from '../../organisations/queries.ts'

const MOST_DAYS = 90
const DEFAULT_DAYS = 14

/** What becomes of agents of the organisation without a responsible person. */
export function ResponsibleSection() {
  const { data, error, isPending, refetch } = useQuery(settingsQuery)
  const may = useMay()
  return (
    <SheetSection
      title="Responsible persons"
      lead="A member is responsible for each agent. If they leave, managers are notified until somebody else is responsible."
    >
      <ErrorNote error={error} onRetry={() => void refetch()} />
      {isPending && (
        <>
          <Loading what="the settings" />
          <Skeleton className="h-28" />
        </>
      )}
      {data && (may('admin') ? <SettingsForm settings={data} /> : <Setting settings={data} />)}
    </SheetSection>
  )
}

interface SettingsProps {
  readonly settings: OrganisationSettings
}

function Setting({ settings: { suspendWithoutResponsibleAfterDays: days } }: SettingsProps) {
  return (
    <p className="text-pretty">
      {days === null
        ? 'Agents without a responsible person stay active.'
        : `Agents without a responsible person are suspended after ${days === 1 ? '1 day' : `${days} days`}.`}
    </p>
  )
}

function SettingsForm({ settings }: SettingsProps) {
  const { suspendWithoutResponsibleAfterDays: stored } = settings
  const queries = useQueryClient()
  const [isSuspended, setSuspended] = useState(stored !== null)
  const [text, setText] = useState(String(stored ?? DEFAULT_DAYS))
  const days = /^\d{1,2}$/.test(text.trim()) ? Number(text) : 0
  const isValid = !isSuspended || (days >= 1 && days <= MOST_DAYS)
  const wanted = isSuspended ? days : null

  const save = useAction(async () => {
    if (!isValid) return
    const body: OrganisationSettings = { suspendWithoutResponsibleAfterDays: wanted }
    const saved = await send<OrganisationSettings>('PATCH', SETTINGS_PATH, body)
    queries.setQueryData(settingsQuery.queryKey, saved)
    toast('Settings saved.')
  })

  return (
    <form noValidate onSubmit={submitHandler(save.run)} className="flex flex-col gap-4">
      <CheckField
        label="Suspend agents without a responsible person"
        checked={isSuspended}
        onChange={({ target }) => setSuspended(target.checked)}
      />
      {isSuspended ? (
        <div className="max-w-sm">
          <TextField
            label="After how many days"
            hint="It also applies to agents that have nobody already. A suspended agent stays suspended until you reactivate it."
            error={isValid ? null : `Enter a number from 1 to ${MOST_DAYS}.`}
            value={text}
            onChange={({ target }) => setText(target.value)}
            inputMode="numeric"
            autoComplete="off"
            maxLength={2}
          />
        </div>
      ) : (
        <p className="text-pretty text-soft">They stay active. Managers are notified each month.</p>
      )}
      <ErrorNote error={save.error} />
      <Button
        type="submit"
        variant="primary"
        className="self-start"
        pending={save.pending}
        disabled={!isValid || wanted === stored}
      >
        Save settings
      </Button>
    </form>
  )
}
