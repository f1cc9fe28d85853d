import type { Owner, SessionState } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { send } from '../api/client.ts'
import { signInWithPasskey, whyNoPasskeys } from '../api/passkeys.ts'
import { sessionQuery } from '../api/session.ts'
import { Button } from './button.tsx'
import { ErrorNote, Note } from './error-note.tsx'
import { TextField } from './field.tsx'
import { SignInProviders } from './sign-in-providers.tsx'
import { submits } from './submits.ts'
import { useAction } from './use-action.ts'

interface WaysProps {
  readonly username: string
  /** @param username of whoever has signed in, who may be someone else */
  readonly onConfirmed: (username: string) => void
}

/** The ways in, once more, for someone who is in already. */
export function WaysToConfirm(props: WaysProps) {
  const session = useQuery(sessionQuery).data
  return session ? <Ways {...props} session={session} /> : null
}

function Ways({ username, onConfirmed, session }: WaysProps & { readonly session: SessionState }) {
  const why = whyNoPasskeys(session.service)
  const [other, setOther] = useState(why !== null)
  const passkey = useAction(async () => {
    onConfirmed((await signInWithPasskey()).owner.username)
  })

  return (
    <>
      {why === null ? (
        <Button variant="primary" pending={passkey.pending} onClick={passkey.run}>
          Confirm with a passkey
        </Button>
      ) : (
        <Note>{why}</Note>
      )}
      <ErrorNote error={passkey.error} />
      {why === null && (
        <Button variant="quiet" aria-expanded={other} onClick={() => setOther(!other)}>
          Another way
        </Button>
      )}
      {other && (
        <>
          <RecoveryCode username={username} onConfirmed={onConfirmed} />
          <SignInProviders
            providers={session.signInProviders}
            verb="Confirm with"
            note="This leads away, and back to the start of the dashboard: begin there once more."
          />
        </>
      )}
    </>
  )
}

function RecoveryCode({ username, onConfirmed }: WaysProps) {
  const [code, setCode] = useState('')
  const use = useAction(async () => {
    const signedIn = await send<{ owner: Owner }>('POST', '/api/sign-in/recovery-code', {
      username,
      code: code.trim(),
    })
    onConfirmed(signedIn.owner.username)
  })

  return (
    <form onSubmit={submits(use.run)} className="flex flex-col gap-4">
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
      <ErrorNote error={use.error} />
      <Button type="submit" pending={use.pending}>
        Confirm with the code
      </Button>
    </form>
  )
}
