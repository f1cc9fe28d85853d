import type { SignedUp, SignUpRequest } from '@countersign/protocol'
import { useState } from 'react'
import { Button } from '../../parts/button.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { TextField } from '../../parts/field.tsx'
import { whatIsWrongWithDisplayName, whatIsWrongWithUsername } from '../../parts/names.ts'
import { submits } from '../../parts/submits.ts'
import { useAction } from '../../parts/use-action.ts'

interface SignUpFormProps {
  readonly shortName: string
  readonly action: string
  readonly create: (who: SignUpRequest) => Promise<SignedUp>
  readonly onDone: (result: SignedUp) => void
}

/** A username and a name. Their form is checked here; whether they are free, the service decides. */
export function SignUpForm({ shortName, action, create, onDone }: SignUpFormProps) {
  const [username, setUsername] = useState('')
  const [displayName, setDisplayName] = useState('')
  const [left, setLeft] = useState({ username: false, displayName: false })
  const wrongUsername = whatIsWrongWithUsername(username, shortName)
  const wrongName = whatIsWrongWithDisplayName(displayName)
  const signUp = useAction(async () => {
    setLeft({ username: true, displayName: true })
    if (wrongUsername !== null || wrongName !== null) return
    onDone(await create({ username, displayName }))
  })

  return (
    <form noValidate onSubmit={submits(signUp.run)} className="flex flex-col gap-4">
      <TextField
        label="Your name"
        hint="A person's or a company's. Everyone sees it on your agents' certificates."
        error={left.displayName ? wrongName : null}
        value={displayName}
        onChange={(event) => setDisplayName(event.target.value)}
        onBlur={() => setLeft((now) => ({ ...now, displayName: displayName !== '' }))}
        autoComplete="name"
        maxLength={128}
        required
      />
      <TextField
        label="Username"
        hint="3 to 32 of a-z, 0-9 and hyphens. You can change it later."
        error={left.username || username.length >= 3 ? wrongUsername : null}
        value={username}
        onChange={(event) => setUsername(event.target.value.toLowerCase())}
        onBlur={() => setLeft((now) => ({ ...now, username: username !== '' }))}
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
