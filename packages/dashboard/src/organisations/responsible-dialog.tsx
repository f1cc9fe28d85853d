import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../components/button.tsx'
import { Dialog, DialogActions } from '../components/dialog.tsx'
import { ErrorNote } from '../components/error-note.tsx'
import { SelectField } from '../components/field.tsx'
import { submitHandler } from '../components/submit-handler.ts'
import { useAction } from '../components/use-action.ts'
import { membersQuery } from './queries.ts'

interface ResponsibleDialogProps {
  /** What the member is responsible for. */
  readonly description: string
  /** The id of a membership; null: nobody. */
  readonly current: string | null
  /** Whether there must be somebody. */
  readonly isRequired?: boolean
  /** @param chosen the id of a membership; null: nobody. @param name to begin a sentence */
  readonly onSave: (chosen: string | null, name: string) => Promise<unknown>
  readonly onClose: () => void
}

/** Chooses the member who is responsible for something of an organisation. */
export function ResponsibleDialog({
  description,
  current,
  isRequired = false,
  onSave,
  onClose,
}: ResponsibleDialogProps) {
  const { data, error, refetch } = useQuery(membersQuery)
  const before = current ?? ''
  const [chosen, setChosen] = useState(before)
  const save = useAction(() => {
    const name = data?.members.find(({ id }) => id === chosen)?.displayName ?? 'Nobody'
    return onSave(chosen === '' ? null : chosen, name)
  })
  return (
    <Dialog open onClose={onClose} title="Responsible person" description={description}>
      <form onSubmit={submitHandler(save.run)} className="flex flex-col gap-4">
        <SelectField
          label="Member"
          value={data === undefined ? '' : chosen}
          onChange={({ target }) => setChosen(target.value)}
        >
          {(!isRequired || before === '') && (
            <option value="">{isRequired ? 'Choose a member' : 'Nobody'}</option>
          )}
          {data?.members.map(({ id, displayName, username }) => (
            <option key={id} value={id}>
              {displayName}
              {username !== undefined && ` (@${username})`}
            </option>
          ))}
        </SelectField>
        <ErrorNote error={error} onRetry={() => void refetch()} />
        <ErrorNote error={save.error} />
        <DialogActions>
          <Button
            type="submit"
            variant="primary"
            pending={save.pending}
            disabled={data === undefined || chosen === before}
          >
            Save
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}
