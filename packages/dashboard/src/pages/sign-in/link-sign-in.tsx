import { send } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { SheetSection } from '../../components/sheet.tsx'
import { useAction } from '../../components/use-action.ts'

interface LinkSignInProps {
  readonly token: string
  readonly onSignedIn: () => Promise<void>
}

/** Redeems a single-use sign-in link only on a click, because mail scanners and link previews open links. */
export function LinkSignIn({ token, onSignedIn }: LinkSignInProps) {
  const redeem = useAction(async () => {
    await send('POST', '/api/sign-in/link', { token })
    await onSignedIn()
  })
  return (
    <SheetSection title="Sign-in link" lead="The operator created this single-use link for you.">
      <Button variant="primary" pending={redeem.pending} onClick={redeem.run}>
        Sign in with this link
      </Button>
      <ErrorNote error={redeem.error} />
    </SheetSection>
  )
}

const IN_FRAGMENT = /^#link=([\w-]{1,64})$/

/**
 * Reads the token and removes it from the URL and the browser history.
 * @returns null if there is none
 */
export function takeLinkToken(): string | null {
  const token = IN_FRAGMENT.exec(location.hash)?.[1] ?? null
  if (token !== null) history.replaceState(history.state, '', location.pathname + location.search)
  return token
}
