import type { SessionState } from '@countersign/protocol'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { passkeysUnavailableReason } from '../../api/passkeys-available.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { TextField } from '../../components/field.tsx'
import { submitHandler } from '../../components/submit-handler.ts'
import { useAction } from '../../components/use-action.ts'
import { usePasskeyAutofill } from './use-passkey-autofill.ts'

interface RecoverySignInProps {
  readonly session: SessionState
  readonly onSignedIn: () => Promise<void>
}

/** Signs in with a recovery code. The username field also offers passkeys by autofill. */
export function RecoverySignIn({ session, onSignedIn }: RecoverySignInProps) {
  const [username, setUsername] = useState('')
  const [code, setCode] = useState('')
  const signIn = useAction(async () => {
    await send('POST', '/api/sign-in/recovery-code', {
      username: username.trim().toLowerCase(),
      code: code.trim(),
    })
    await onSignedIn()
  })
  const passkeys = usePasskeyAutofill(onSignedIn)
  const offer = passkeysUnavailableReason(session.service) === null ? passkeys.offer : undefined
  return (
    <form
      onSubmit={submitHandler(signIn.run)}
      onPointerEnter={offer}
      className="flex flex-col gap-4"
    >
      <TextField
        label="Username"
        value={username}
        onChange={(event) => setUsername(event.target.value)}
        onFocus={offer}
        autoComplete="username webauthn"
        autoCapitalize="none"
        spellCheck={false}
        required
      />
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
      <ErrorNote error={signIn.error ?? passkeys.error} />
      <Button type="submit" pending={signIn.pending}>
        Sign in with recovery code
      </Button>
    </form>
  )
}
