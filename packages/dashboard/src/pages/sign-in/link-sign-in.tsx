import { send } from '../../api/client.ts'
import { Button } from '../../parts/button.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { Clause } from '../../parts/sheet.tsx'
import { useAction } from '../../parts/use-action.ts'

interface LinkSignInProps {
  readonly token: string
  readonly onSignedIn: () => Promise<void>
}

/** A sign-in link works once: only a press redeems it, so that no program that looks at links burns it. */
export function LinkSignIn({ token, onSignedIn }: LinkSignInProps) {
  const redeem = useAction(async () => {
    await send('POST', '/api/sign-in/link', { token })
    await onSignedIn()
  })
  return (
    <Clause
      title="You have opened a sign-in link"
      lead="It works once. Whoever runs this service made it for you."
    >
      <Button variant="primary" pending={redeem.pending} onClick={redeem.run}>
        Sign in with this link
      </Button>
      <ErrorNote error={redeem.error} />
    </Clause>
  )
}

const IN_FRAGMENT = /^#link=([\w-]{1,64})$/

/**
 * Takes the token out of the address, and out of the history: it is in nobody's way back.
 * @returns null where there is none
 */
export function takeLinkToken(): string | null {
  const token = IN_FRAGMENT.exec(location.hash)?.[1] ?? null
  if (token !== null) history.replaceState(history.state, '', location.pathname + location.search)
  return token
}
