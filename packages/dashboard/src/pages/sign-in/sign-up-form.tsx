import type { SignedUp, SignUpRequest } from '@countersign/protocol'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { TextField } from '../../components/field.tsx'
import { submitHandler } from '../../components/submit-handler.ts'
import { useAction } from '../../components/use-action.ts'
import { displayNameError, usernameError } from '../../components/validate-names.ts'

interface SignUpFormProps {
  readonly shortName: string
  readonly action: string
  readonly create: (who: SignUpRequest) => Promise<SignedUp>
  readonly onDone: (result: SignedUp) => void
}

/** Checks the format of the names. The service checks whether they are available. */
export function SignUpForm({ shortName, action, create, onDone }: SignUpFormProps) {
  const [username, setUsername] = useState('')
  const [displayName, setDisplayName] = useState('')
  const [touched, setTouched] = useState({ username: false, displayName: false })
  const invalidUsername = usernameError(username, shortName)
  const nameError = displayNameError(displayName)
  const signUp = useAction(async () => {
    setTouched({ username: true, displayName: true })
    if (invalidUsername !== null || nameError !== null) return
    onDone(await create({ username, displayName }))
  })

  return (
    <form noValidate onSubmit={submitHandler(signUp.run)} className="flex flex-col gap-4">
      <TextField
        label="Your name"
        hint="Your name or your company's. Your agents' certificates show it as self-declared."
        error={touched.displayName ? nameError : null}
        value={displayName}
        onChange={(event) => setDisplayName(event.target.value)}
        onBlur={() => setTouched((now) => ({ ...now, displayName: displayName !== '' }))}
        autoComplete="name"
        maxLength={128}
        required
      />
      <TextField
        label="Username"
        hint="3 to 32 characters: a-z, 0-9 and hyphens. You can change it later."
        error={touched.username || username.length >= 3 ? invalidUsername : null}
        value={username}
        onChange={(event) => setUsername(event.target.value.toLowerCase())}
        onBlur={() => setTouched((now) => ({ ...now, username: username !== '' }))}
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        maxLength={32}
        required
      />
      <ErrorNote error={signUp.error} />
      <Button type="submit" variant="primary" pending={signUp.pending}>
        {action}
      </Button>
    </form>
  )
}
