import type { SessionState } from '@countersign/protocol'
import { useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { signInWithPasskey, whyNoPasskeys } from '../../api/passkeys.ts'
import { sessionQuery } from '../../api/session.ts'
import { Button, buttonClass } from '../../parts/button.tsx'
import { ErrorNote, Note } from '../../parts/error-note.tsx'
import { FailedReturn } from '../../parts/failed-return.tsx'
import { Page } from '../../parts/page.tsx'
import { Clause, Sheet } from '../../parts/sheet.tsx'
import { SignInProviders } from '../../parts/sign-in-providers.tsx'
import { useAction } from '../../parts/use-action.ts'
import { LinkSignIn, takeLinkToken } from './link-sign-in.tsx'
import { safeNext } from './next.ts'
import { RecoverySignIn } from './recovery-sign-in.tsx'
import { useSignedIn } from './use-signed-in.ts'

const route = getRouteApi('/signed-out/sign-in')

export function SignInPage() {
  const { next, failed, message, request } = route.useSearch()
  const session = useSuspenseQuery(sessionQuery).data
  const onSignedIn = useSignedIn(next)
  // Taken once: the first render cleans the address, the second finds nothing there.
  const [token] = useState(linkToken)

  return (
    <Page title="Sign in" lead="To the agents that you stand behind." width="narrow">
      {failed !== undefined && (
        <FailedReturn what="You are not signed in." message={message} request={request} />
      )}
      <Sheet>
        {session.owner !== null && <SignedInAlready session={session} next={next} />}
        {token !== null && <LinkSignIn token={token} onSignedIn={onSignedIn} />}
        <PasskeySignIn session={session} onSignedIn={onSignedIn} />
        {session.signInProviders.length > 0 && (
          <Clause title="With another account">
            <SignInProviders providers={session.signInProviders} verb="Sign in with" />
          </Clause>
        )}
        <Clause title="No passkey at hand" lead="With a recovery code, you get in all the same.">
          <RecoverySignIn session={session} onSignedIn={onSignedIn} />
        </Clause>
      </Sheet>
      <p className="text-soft">
        Neither passkey nor code? Whoever runs this service can make a sign-in link for you.
      </p>
    </Page>
  )
}

/** StrictMode asks twice; the address is there only the first time. */
let taken: string | null = null

function linkToken(): string | null {
  taken = takeLinkToken() ?? taken
  return taken
}

interface PasskeySignInProps {
  readonly session: SessionState
  readonly onSignedIn: () => Promise<void>
}

function PasskeySignIn({ session, onSignedIn }: PasskeySignInProps) {
  const why = whyNoPasskeys(session.service)
  const signIn = useAction(async () => {
    await signInWithPasskey()
    await onSignedIn()
  })

  return (
    <Clause
      title="With your passkey"
      lead="The key that your device or password manager keeps for you. You unlock it the way you unlock the device."
    >
      {why === null ? (
        <Button variant="primary" pending={signIn.pending} onClick={signIn.run}>
          Sign in with a passkey
        </Button>
      ) : (
        <Note tone="warn">{why} Take one of the ways below.</Note>
      )}
      <ErrorNote error={signIn.error} />
      <p>
        No account yet?{' '}
        <Link to="/sign-up" className="font-medium text-accent underline">
          Create one
        </Link>
      </p>
    </Clause>
  )
}

function SignedInAlready({
  session,
  next,
}: {
  readonly session: SessionState
  readonly next: string | undefined
}) {
  return (
    <Clause title={`You are signed in as ${session.owner?.displayName}`}>
      <a href={safeNext(next)} className={`${buttonClass('primary')} self-start`}>
        To the dashboard
      </a>
    </Clause>
  )
}
