import type { Owner, SessionState } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { send } from '../api/client.ts'
import { signInWithPasskey } from '../api/passkeys.ts'
import { passkeysUnavailableReason } from '../api/passkeys-available.ts'
import { sessionQuery } from '../api/queries.ts'
import { Button } from './button.tsx'
import { ErrorNote, Note } from './error-note.tsx'
import { TextField } from './field.tsx'
import { SignInProviders } from './sign-in-providers.tsx'
import { submitHandler } from './submit-handler.ts'
import { useAction } from './use-action.ts'

export interface ReauthenticationFormProps {
  readonly username: string
  /** @param username of the account that signed in, which may be a different one */
  readonly onConfirmed: (username: string) => void
}

/** All sign-in methods, for confirming an action while signed in. */
export function ReauthenticationForm(props: ReauthenticationFormProps) {
  const session = useQuery(sessionQuery).data
  return session ? <Methods {...props} session={session} /> : null
}

function Methods({
  username,
  onConfirmed,
  session,
}: ReauthenticationFormProps & { readonly session: SessionState }) {
  const unavailableReason = passkeysUnavailableReason(session.service)
  const [showOthers, setShowOthers] = useState(unavailableReason !== null)
  const passkey = useAction(async () => {
    onConfirmed((await signInWithPasskey()).owner.username)
  })

  return (
    <>
      {unavailableReason === null ? (
        <Button variant="primary" pending={passkey.pending} onClick={passkey.run}>
          Confirm with a passkey
        </Button>
      ) : (
        <Note>{unavailableReason}</Note>
      )}
      <ErrorNote error={passkey.error} />
      {unavailableReason === null && (
        <Button
          variant="quiet"
          aria-expanded={showOthers}
          onClick={() => setShowOthers(!showOthers)}
        >
          Use another sign-in method
        </Button>
      )}
      {showOthers && (
        <>
          <RecoveryCode username={username} onConfirmed={onConfirmed} />
          <SignInProviders
            providers={session.signInProviders}
            verb="Confirm with"
            note="You return to the start of the dashboard. Then repeat your action."
          />
        </>
      )}
    </>
  )
}

function RecoveryCode({ username, onConfirmed }: ReauthenticationFormProps) {
  const [code, setCode] = useState('')
  const signIn = useAction(async () => {
    const signedIn = await send<{ owner: Owner }>('POST', '/api/sign-in/recovery-code', {
      username,
      code: code.trim(),
    })
    onConfirmed(signedIn.owner.username)
  })

  return (
    <form onSubmit={submitHandler(signIn.run)} className="flex flex-col gap-4">
      <TextField
        label="Recovery code"
        hint="One of your ten recovery codes. Each works once."
        value={code}
        onChange={(event) => setCode(event.target.value)}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        required
      />
      <ErrorNote error={signIn.error} />
      <Button type="submit" pending={signIn.pending}>
        Confirm with recovery code
      </Button>
    </form>
  )
}
