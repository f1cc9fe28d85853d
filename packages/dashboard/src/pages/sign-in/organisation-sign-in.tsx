import { useState } from 'react'
import { send } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { TextField } from '../../components/field.tsx'
import { submitHandler } from '../../components/submit-handler.ts'
import { useAction } from '../../components/use-action.ts'

interface OrganisationSignInProps {
  /** The username in the link that the organisation gives to its members. */
  readonly organisation: string | undefined
}

/** Signs in at the identity provider of an organisation. */
export function OrganisationSignIn({ organisation = '' }: OrganisationSignInProps) {
  const [name, setName] = useState(organisation)
  const signIn = useAction(async () => {
    const query = new URLSearchParams({ name: name.trim().toLowerCase() })
    const { redirect } = await send<{ redirect: string }>('POST', `/sign-in/organisation?${query}`)
    location.assign(redirect)
  })
  return (
    <form onSubmit={submitHandler(signIn.run)} className="flex flex-col gap-4">
      <TextField
        label="Name of your organisation"
        hint="Its username here, such as acme."
        value={name}
        onChange={(event) => setName(event.target.value)}
        autoComplete="organization"
        autoCapitalize="none"
        spellCheck={false}
        required
      />
      <ErrorNote error={signIn.error} />
      <Button
        type="submit"
        variant={organisation === '' ? 'secondary' : 'primary'}
        pending={signIn.pending}
      >
        Sign in with your organisation
      </Button>
    </form>
  )
}
