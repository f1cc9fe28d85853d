import {
  describeBrowser,
  type Owner,
  type SessionState,
  type SignedUp,
} from '@countersign/protocol'
import { useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { signUpWithPasskey } from '../../api/passkeys.ts'
import { passkeysUnavailableReason } from '../../api/passkeys-available.ts'
import { sessionQuery } from '../../api/queries.ts'
import { Note } from '../../components/error-note.tsx'
import { Page } from '../../components/page.tsx'
import { RecoveryCodes } from '../../components/recovery-codes.tsx'
import { Sheet, SheetSection } from '../../components/sheet.tsx'
import { SignInProviders } from '../../components/sign-in-providers.tsx'
import { SignUpForm } from './sign-up-form.tsx'

const route = getRouteApi('/signed-out/sign-up')

export function SignUpPage() {
  const { provider } = route.useSearch()
  const session = useSuspenseQuery(sessionQuery).data
  const queries = useQueryClient()
  const [signedUp, setSignedUp] = useState<SignedUp | null>(null)

  function done(result: SignedUp) {
    setSignedUp(result)
    queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] })
    void queries.invalidateQueries(sessionQuery)
  }

  if (signedUp !== null) return <RecoveryCodesPage {...signedUp} />
  return provider === undefined ? (
    <ByPasskey session={session} onDone={done} />
  ) : (
    <ByProvider session={session} provider={provider} onDone={done} />
  )
}

interface SignUpProps {
  readonly session: SessionState
  readonly onDone: (result: SignedUp) => void
}

function ByPasskey({ session, onDone }: SignUpProps) {
  const unavailableReason = passkeysUnavailableReason(session.service)
  return (
    <Page
      title="Create your account"
      lead="For people and companies that run software agents."
      width="narrow"
    >
      {session.owner !== null && <SignedInNote owner={session.owner} />}
      {unavailableReason !== null && (
        <Note tone="warn">
          {unavailableReason}{' '}
          {session.signInProviders.length === 0 &&
            'Ask the operator of this service to add you as an owner and send you a sign-in link.'}
        </Note>
      )}
      <Sheet>
        {unavailableReason === null && (
          <SheetSection
            title="Passkey"
            lead="Your device or password manager creates and stores a key. You need no password."
          >
            <SignUpForm
              shortName={session.service.shortName}
              action="Create account with a passkey"
              create={(who) => signUpWithPasskey(who, describeBrowser(navigator.userAgent))}
              onDone={onDone}
            />
          </SheetSection>
        )}
        {session.signInProviders.length > 0 && (
          <SheetSection
            title="Account of a provider"
            lead="Choose your name and username in the next step."
          >
            <SignInProviders providers={session.signInProviders} verb="Continue with" />
          </SheetSection>
        )}
      </Sheet>
      <SignInHint />
    </Page>
  )
}

function ByProvider({ session, provider, onDone }: SignUpProps & { readonly provider: string }) {
  const label = session.signInProviders.find(({ id }) => id === provider)?.label ?? provider
  return (
    <Page
      title="Create your account"
      lead={`You signed in with ${label}. You have no account here yet.`}
      width="narrow"
    >
      <Sheet>
        <SheetSection title="Your profile" lead="You can use other names than at the provider.">
          <SignUpForm
            shortName={session.service.shortName}
            action="Create account"
            create={(who) => send<SignedUp>('POST', '/api/sign-up/provider', who)}
            onDone={onDone}
          />
        </SheetSection>
      </Sheet>
      <SignInHint />
    </Page>
  )
}

function SignedInNote({ owner }: { readonly owner: Owner }) {
  return (
    <Note>
      You are signed in as {owner.displayName}. Creating a new account signs you out of that one.{' '}
      <Link to="/agents" className="font-medium text-accent underline">
        Show your agents
      </Link>
    </Note>
  )
}

function SignInHint() {
  return (
    <p className="text-soft">
      Already have an account?{' '}
      <Link to="/sign-in" className="font-medium text-accent underline">
        Sign in
      </Link>
    </p>
  )
}

function RecoveryCodesPage({ owner, recoveryCodes }: SignedUp) {
  const navigate = useNavigate()
  return (
    <Page
      title="Save your recovery codes"
      lead="If you lose your passkey, sign in with one of these codes. Each works once. Store them outside this device, for example in a password manager."
      width="narrow"
      step="codes"
    >
      <Sheet>
        <SheetSection title={`Welcome, ${owner.displayName}`}>
          <RecoveryCodes
            owner={owner}
            codes={recoveryCodes}
            action="I saved the codes. Continue"
            onDone={() => void navigate({ to: '/identity' })}
          />
        </SheetSection>
      </Sheet>
    </Page>
  )
}
