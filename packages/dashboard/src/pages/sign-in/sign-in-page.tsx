import type { SessionState } from '@countersign/protocol'
import { useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useLocation, useRouter } from '@tanstack/react-router'
import { useState } from 'react'
import { loadPage } from '../../api/acting-for.ts'
import { send } from '../../api/client.ts'
import { signInWithPasskey } from '../../api/passkeys.ts'
import { passkeysUnavailableReason } from '../../api/passkeys-available.ts'
import { sessionQuery } from '../../api/queries.ts'
import { Button, buttonClass } from '../../components/button.tsx'
import { ErrorNote, Note } from '../../components/error-note.tsx'
import { Page } from '../../components/page.tsx'
import { ProviderError } from '../../components/provider-error.tsx'
import { Sheet, SheetSection } from '../../components/sheet.tsx'
import { SignInProviders } from '../../components/sign-in-providers.tsx'
import { useAction } from '../../components/use-action.ts'
import { OrganisationSignIn } from './organisation-sign-in.tsx'
import { RecoverySignIn } from './recovery-sign-in.tsx'
import { safeReturnPath } from './return-path.ts'

const route = getRouteApi('/signed-out/sign-in')

export function SignInPage() {
  const { next, failed, code, request, organisation } = route.useSearch()
  const session = useSuspenseQuery(sessionQuery).data
  const onSignedIn = useAfterSignIn(next)
  // Reads it once, because reading removes it from the URL.
  const [token] = useState(linkToken)

  return (
    <Page title="Sign in" lead="Sign in to manage your agents." width="narrow">
      <Deleted />
      {failed !== undefined && (
        <ProviderError
          what="You are not signed in."
          cancelled="The sign-in was cancelled."
          provider={session.signInProviders.find(({ id }) => id === failed)?.label}
          code={code}
          request={request}
        />
      )}
      <Sheet>
        {session.owner !== null && <AlreadySignedIn session={session} next={next} />}
        {token !== null && <LinkSignIn token={token} onSignedIn={onSignedIn} />}
        <PasskeySignIn session={session} onSignedIn={onSignedIn} />
        {session.signInProviders.length > 0 && (
          <SheetSection title="Linked account">
            <SignInProviders providers={session.signInProviders} verb="Sign in with" />
          </SheetSection>
        )}
        <SheetSection
          title="Organisation"
          lead="Use the account that your organisation gave you at its identity provider."
        >
          <OrganisationSignIn organisation={organisation} />
        </SheetSection>
        <SheetSection
          title="Recovery code"
          lead="Use a recovery code if you have no passkey on this device."
        >
          <RecoverySignIn session={session} onSignedIn={onSignedIn} />
        </SheetSection>
      </Sheet>
      <p className="text-soft">
        No passkey and no recovery code? Ask the operator of this service for a sign-in link.
      </p>
    </Page>
  )
}

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** The account was deleted. Part of the history, not of the URL, so that no link of another site can say it. */
    deleted?: { readonly revokedAgents: number }
  }
}

function Deleted() {
  const deleted = useLocation({ select: ({ state }) => state.deleted })
  if (deleted === undefined) return null
  const { revokedAgents } = deleted
  return (
    <div role="status">
      <Note tone="good">
        <p className="font-medium">Your account is deleted.</p>
        {revokedAgents > 0 && (
          <p>
            {revokedAgents === 1 ? 'Your agent is' : `Your ${revokedAgents} agents are`} revoked
            permanently.
          </p>
        )}
        <p>Your name, sign-in methods and verifications are deleted.</p>
      </Note>
    </div>
  )
}

/** StrictMode renders twice, but the token is in the URL only the first time. */
let linkTokenOnce: string | null = null

function linkToken(): string | null {
  linkTokenOnce = takeLinkToken() ?? linkTokenOnce
  return linkTokenOnce
}

interface PasskeySignInProps {
  readonly session: SessionState
  readonly onSignedIn: () => Promise<void>
}

function PasskeySignIn({ session, onSignedIn }: PasskeySignInProps) {
  const unavailableReason = passkeysUnavailableReason(session.service)
  const signIn = useAction(async () => {
    await signInWithPasskey()
    await onSignedIn()
  })

  return (
    <SheetSection
      title="Passkey"
      lead="Use the passkey on this device or in your password manager."
    >
      {unavailableReason === null ? (
        <Button variant="primary" pending={signIn.pending} onClick={signIn.run}>
          Sign in with a passkey
        </Button>
      ) : (
        <Note tone="warn">{unavailableReason} Use another method below.</Note>
      )}
      <ErrorNote error={signIn.error} />
      <p>
        No account yet?{' '}
        <Link to="/sign-up" className="font-medium text-accent underline">
          Create account
        </Link>
      </p>
    </SheetSection>
  )
}

function AlreadySignedIn({
  session,
  next,
}: {
  readonly session: SessionState
  readonly next: string | undefined
}) {
  return (
    <SheetSection title={`You are signed in as ${session.owner?.displayName}`}>
      <a href={safeReturnPath(next)} className={`${buttonClass('primary')} self-start`}>
        Open the dashboard
      </a>
    </SheetSection>
  )
}

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

/** The pages of an organisation, which the router of a person's pages does not have. */
const OF_ORGANISATION = /^\/dashboard\/o\//

/** @returns called after signing in: clears cached data of a previous account and continues */
export function useAfterSignIn(next: string | undefined): () => Promise<void> {
  const queries = useQueryClient()
  const router = useRouter()
  return async () => {
    queries.clear()
    await queries.fetchQuery({ ...sessionQuery, staleTime: 0 })
    const path = safeReturnPath(next)
    if (OF_ORGANISATION.test(path)) await loadPage(path)
    router.history.push(path)
  }
}
