import type { ApiKeyScope, CreatedApiKey, NewApiKey } from '@countersign/protocol'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { Dialog, DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { CheckField, SelectField, TextField } from '../../components/field.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { submitHandler } from '../../components/submit-handler.ts'
import { useAction } from '../../components/use-action.ts'

const MAX_NAME_LENGTH = 64
const LIFETIMES = [7, 30, 90, 365]
const DEFAULT_LIFETIME = 90

interface CreateApiKeyDialogProps {
  /** What each scope allows, in the order of the list. */
  readonly scopeTexts: Readonly<Record<ApiKeyScope, string>>
  readonly onClose: () => void
  readonly onCreated: (key: CreatedApiKey) => Promise<void>
}

/** Asks for name, scopes and lifetime of a new API key. */
export function CreateApiKeyDialog({ scopeTexts, onClose, onCreated }: CreateApiKeyDialogProps) {
  const withRecentSignIn = useRecentSignIn()
  const [name, setName] = useState('')
  const [scopes, setScopes] = useState<readonly ApiKeyScope[]>(['agents:read'])
  const [days, setDays] = useState(DEFAULT_LIFETIME)

  const create = useAction(async () => {
    const body: NewApiKey = { name: name.trim(), scopes: [...scopes], expiresInDays: days }
    const key = await withRecentSignIn(() =>
      send<CreatedApiKey>('POST', '/api/account/api-keys', body),
    )
    onClose()
    await onCreated(key)
  })

  function toggle(scope: ApiKeyScope, isOn: boolean) {
    const others = scopes.filter((each) => each !== scope)
    setScopes(isOn ? [...others, scope] : others)
  }

  return (
    <Dialog
      open
      onClose={onClose}
      title="Create an API key"
      description="Give it only what the program needs. It can never change how you sign in, export your data or delete the account."
    >
      <form onSubmit={submitHandler(create.run)} className="flex flex-col gap-4">
        <TextField
          label="Name"
          hint="The program that uses it, such as “Deployment”."
          value={name}
          onChange={(event) => setName(event.target.value)}
          maxLength={MAX_NAME_LENGTH}
          pattern=".*\S.*"
          autoComplete="off"
          required
        />
        <fieldset className="flex flex-col">
          <legend className="mb-1 font-medium">What it may do</legend>
          {(Object.entries(scopeTexts) as [ApiKeyScope, string][]).map(([scope, text]) => (
            <CheckField
              key={scope}
              label={
                <>
                  {text} <code className="block text-soft text-sm">{scope}</code>
                </>
              }
              checked={scopes.includes(scope)}
              onChange={(event) => toggle(scope, event.target.checked)}
            />
          ))}
        </fieldset>
        <SelectField
          label="Expires after"
          value={days}
          onChange={(event) => setDays(Number(event.target.value))}
        >
          {LIFETIMES.map((each) => (
            <option key={each} value={each}>
              {each} days
            </option>
          ))}
        </SelectField>
        <ErrorNote error={create.error} />
        <DialogActions>
          <Button
            type="submit"
            variant="primary"
            pending={create.pending}
            disabled={scopes.length === 0}
          >
            Create the API key
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}
