import type { GrantIssuer } from '@countersign/protocol'
import { useRef, useState } from 'react'
import { send } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { Dialog, DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { TextField } from '../../components/field.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { submitHandler } from '../../components/submit-handler.ts'
import { useAction } from '../../components/use-action.ts'
import { displayNameError } from '../../components/validate-names.ts'
import { GRANT_ISSUERS_PATH } from './queries.ts'

interface CreateIssuerDialogProps {
  readonly onClose: () => void
  readonly onCreated: (issuer: GrantIssuer) => Promise<unknown>
}

/** Asks for the name of a new grant issuer. */
export function CreateIssuerDialog({ onClose, onCreated }: CreateIssuerDialogProps) {
  const withRecentSignIn = useRecentSignIn()
  const [name, setName] = useState('')
  const [submitted, setSubmitted] = useState(false)
  const field = useRef<HTMLInputElement>(null)
  const nameError = displayNameError(name)

  const create = useAction(async () => {
    setSubmitted(true)
    if (nameError !== null) {
      field.current?.focus()
      return
    }
    const body = { name: name.trim() }
    await onCreated(
      await withRecentSignIn(() => send<GrantIssuer>('POST', GRANT_ISSUERS_PATH, body)),
    )
  })

  return (
    <Dialog
      open
      onClose={onClose}
      title="Create a grant issuer"
      description="It gets a random URL and keys of its own. Authorization servers can recognize agents that share an issuer as agents of one owner."
    >
      <form noValidate onSubmit={submitHandler(create.run)} className="flex flex-col gap-4">
        <TextField
          ref={field}
          label="Name"
          hint="Private. It identifies the issuer in your list."
          error={submitted ? nameError : null}
          placeholder="Shop agents"
          value={name}
          onChange={(event) => setName(event.target.value)}
          autoComplete="off"
        />
        <ErrorNote error={create.error} />
        <DialogActions>
          <Button type="submit" variant="primary" pending={create.pending}>
            Create the grant issuer
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}
