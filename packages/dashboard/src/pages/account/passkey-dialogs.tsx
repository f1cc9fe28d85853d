import { describeBrowser, type Passkey } from '@countersign/protocol'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { addPasskey } from '../../api/passkeys.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog, Dialog, DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { TextField } from '../../components/field.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { submitHandler } from '../../components/submit-handler.ts'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'
import { useRefreshAccount } from './use-refresh-account.ts'

const MAX_NAME_LENGTH = 64

interface NameFormProps {
  readonly initial: string
  readonly hint: string
  readonly action: string
  readonly save: (name: string) => Promise<void>
  readonly onClose: () => void
}

function NameForm({ initial, hint, action, save, onClose }: NameFormProps) {
  const [name, setName] = useState(initial)
  const submit = useAction(async () => {
    await save(name.trim())
    onClose()
  })
  return (
    <form onSubmit={submitHandler(submit.run)} className="flex flex-col gap-4">
      <TextField
        label="Name"
        hint={hint}
        value={name}
        onChange={(event) => setName(event.target.value)}
        maxLength={MAX_NAME_LENGTH}
        pattern=".*\S.*"
        autoComplete="off"
        required
      />
      <ErrorNote error={submit.error} />
      <DialogActions>
        <Button type="submit" variant="primary" pending={submit.pending}>
          {action}
        </Button>
        <Button onClick={onClose}>Cancel</Button>
      </DialogActions>
    </form>
  )
}

interface ClosableProps {
  readonly onClose: () => void
}

interface PasskeyDialogProps extends ClosableProps {
  readonly passkey: Passkey
}

export function AddPasskeyDialog({ onClose }: ClosableProps) {
  const withRecentSignIn = useRecentSignIn()
  const refreshAccount = useRefreshAccount()

  async function add(name: string) {
    await withRecentSignIn(() => addPasskey(name))
    await refreshAccount()
    toast('Passkey added.')
  }

  return (
    <Dialog
      open
      onClose={onClose}
      title="Add a passkey"
      description="Your browser asks where to store it: on this device, on a phone or on a security key."
    >
      <NameForm
        initial={describeBrowser(navigator.userAgent)}
        hint="Private. It identifies the passkey in your list."
        action="Create passkey"
        save={add}
        onClose={onClose}
      />
    </Dialog>
  )
}

export function RenamePasskeyDialog({ passkey, onClose }: PasskeyDialogProps) {
  const refreshAccount = useRefreshAccount()

  async function rename(name: string) {
    await send('PATCH', `/api/account/passkeys/${encodeURIComponent(passkey.id)}`, { name })
    await refreshAccount()
    toast('Name saved.')
  }

  return (
    <Dialog open onClose={onClose} title="Rename the passkey">
      <NameForm
        initial={passkey.name}
        hint="Private."
        action="Save name"
        save={rename}
        onClose={onClose}
      />
    </Dialog>
  )
}

export function RemovePasskeyDialog({ passkey, onClose }: PasskeyDialogProps) {
  const withRecentSignIn = useRecentSignIn()
  const refreshAccount = useRefreshAccount()

  async function remove() {
    const path = `/api/account/passkeys/${encodeURIComponent(passkey.id)}`
    await withRecentSignIn(() => send('DELETE', path))
    await refreshAccount()
    toast('Passkey removed.')
  }

  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={`Remove the passkey ${passkey.name}?`}
      action="Remove passkey"
      danger
      onConfirm={remove}
    >
      <p>
        You can no longer sign in with it. The sessions that it started end at once, including this
        one if you signed in with this passkey.
      </p>
      <p>Your device may still offer it until you delete it there.</p>
    </ConfirmDialog>
  )
}
