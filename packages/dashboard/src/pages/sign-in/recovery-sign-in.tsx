import type { SessionState } from '@countersign/protocol'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { whyNoPasskeys } from '../../api/passkeys.ts'
import { Button } from '../../parts/button.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { TextField } from '../../parts/field.tsx'
import { submits } from '../../parts/submits.ts'
import { useAction } from '../../parts/use-action.ts'
import { useOfferedPasskeys } from './use-offered-passkeys.ts'

interface RecoverySignInProps {
  readonly session: SessionState
  readonly onSignedIn: () => Promise<void>
}

/** A username and one of the ten codes. The browser offers passkeys in the first field, where it can. */
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
  const passkeys = useOfferedPasskeys(onSignedIn)
  const offer = whyNoPasskeys(session.service) === null ? passkeys.offer : undefined
  return (
    <form onSubmit={submits(signIn.run)} onPointerEnter={offer} className="flex flex-col gap-4">
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
        hint="One of the ten that you kept. It works once."
        value={code}
        onChange={(event) => setCode(event.target.value)}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        required
      />
      <ErrorNote error={signIn.error ?? passkeys.error} />
      <Button type="submit" pending={signIn.pending}>
        Sign in with the code
      </Button>
    </form>
  )
}
