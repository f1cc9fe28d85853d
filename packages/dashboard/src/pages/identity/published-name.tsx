import { useQueryClient } from '@tanstack/react-query'
import { send } from '../../api/client.ts'
import { useMay } from '../../api/use-may.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { CheckField } from '../../components/field.tsx'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'

interface PublishNameFieldProps {
  readonly label: string
  readonly checked: boolean
  readonly onChange: (checked: boolean) => void
  /** Whether there is a verification already, so that the choice counts from its renewal on. */
  readonly renewal?: boolean
}

/** The owner's choice to publish the name that a provider verifies. */
export function PublishNameField({
  label,
  checked,
  onChange,
  renewal = false,
}: PublishNameFieldProps) {
  return (
    <CheckField
      checked={checked}
      onChange={(event) => onChange(event.target.checked)}
      label={
        <>
          {renewal ? 'When you renew, publish' : 'Publish'} the name that {label} verifies
          <span className="block text-sm text-soft">
            Everyone sees it on your agents’ certificates.
          </span>
        </>
      }
    />
  )
}

interface PublishedNameProps {
  readonly provider: string
  readonly name: string
}

/** The verified name that the owner publishes, with a button that deletes it. */
export function PublishedName({ provider, name }: PublishedNameProps) {
  const queries = useQueryClient()
  const may = useMay()
  const withdraw = useAction(async () => {
    await send('DELETE', `/api/identity/${encodeURIComponent(provider)}/name`)
    await queries.invalidateQueries()
    toast('The verified name is deleted and no longer published.')
  })
  return (
    <div className="flex flex-col gap-2">
      <p className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <span className="wrap-anywhere">
          Published name: <strong className="font-semibold">{name}</strong>
        </span>
        {may('admin') && (
          <Button size="small" pending={withdraw.pending} onClick={withdraw.run}>
            Stop publishing
          </Button>
        )}
      </p>
      <ErrorNote error={withdraw.error} />
    </div>
  )
}
