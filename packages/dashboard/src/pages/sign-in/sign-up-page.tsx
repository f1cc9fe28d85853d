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
import { passkeysUnavailableReason, signUpWithPasskey } from '../../api/passkeys.ts'
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
      lead="For a person or a company that stands behind software agents."
      width="narrow"
    >
      {session.owner !== null && <SignedInNote owner={session.owner} />}
      {unavailableReason !== null && (
        <Note tone="warn">
          {unavailableReason}{' '}
          {session.signInProviders.length === 0 &&
            'Whoever runs this service can add you as an owner and give you a sign-in link.'}
        </Note>
      )}
      <Sheet>
        {unavailableReason === null && (
          <SheetSection
            title="With a passkey"
            lead="Instead of a password, your device or password manager makes a key and keeps it. There is nothing to remember, and nothing that could be stolen from us."
          >
            <SignUpForm
              shortName={session.service.shortName}
              action="Create the account with a passkey"
              create={(who) => signUpWithPasskey(who, describeBrowser(navigator.userAgent))}
              onDone={onDone}
            />
          </SheetSection>
        )}
        {session.signInProviders.length > 0 && (
          <SheetSection
            title="With an account that you have"
            lead="You choose your name and username afterwards."
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
      lead={`${label} has confirmed who you are to them. No account here belongs to you yet.`}
      width="narrow"
    >
      <Sheet>
        <SheetSection
          title="How you will be known here"
          lead="Neither needs to be what you use elsewhere."
        >
          <SignUpForm
            shortName={session.service.shortName}
            action="Create the account"
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
      You are signed in as {owner.displayName}. A new account takes the place of that sign-in.{' '}
      <Link to="/agents" className="font-medium text-accent underline">
        Back to your agents
      </Link>
    </Note>
  )
}

function SignInHint() {
  return (
    <p className="text-soft">
      You have an account?{' '}
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
      title="Keep your recovery codes"
      lead="Should you ever lose your passkey, one of these lets you in. Each works once. Put them where you keep what matters, and not on this device alone."
      width="narrow"
      step="codes"
    >
      <Sheet>
        <SheetSection title={`Welcome, ${owner.displayName}`}>
          <RecoveryCodes
            owner={owner}
            codes={recoveryCodes}
            action="Go on: prove who you are"
            onDone={() => void navigate({ to: '/identity' })}
          />
        </SheetSection>
      </Sheet>
    </Page>
  )
}
