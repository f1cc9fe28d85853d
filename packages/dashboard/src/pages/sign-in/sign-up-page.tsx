import type { Owner, SessionState, SignedUp } from '@countersign/protocol'
import { useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { signUpWithPasskey, whyNoPasskeys } from '../../api/passkeys.ts'
import { sessionQuery } from '../../api/session.ts'
import { browserInWords } from '../../parts/browser-in-words.ts'
import { Note } from '../../parts/error-note.tsx'
import { Page } from '../../parts/page.tsx'
import { RecoveryCodes } from '../../parts/recovery-codes.tsx'
import { Clause, Sheet } from '../../parts/sheet.tsx'
import { SignInProviders } from '../../parts/sign-in-providers.tsx'
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

  if (signedUp !== null) return <KeepTheCodes {...signedUp} />
  return provider === undefined ? (
    <ByPasskey session={session} onDone={done} />
  ) : (
    <ByProvider session={session} provider={provider} onDone={done} />
  )
}

interface WayProps {
  readonly session: SessionState
  readonly onDone: (result: SignedUp) => void
}

function ByPasskey({ session, onDone }: WayProps) {
  const why = whyNoPasskeys(session.service)
  return (
    <Page
      title="Create your account"
      lead="For a person or a company that stands behind software agents."
      width="narrow"
    >
      {session.owner !== null && <SignedInNow owner={session.owner} />}
      {why !== null && (
        <Note tone="warn">
          {why}{' '}
          {session.signInProviders.length === 0 &&
            'Whoever runs this service can add you as an owner and give you a sign-in link.'}
        </Note>
      )}
      <Sheet>
        {why === null && (
          <Clause
            title="With a passkey"
            lead="Instead of a password, your device or password manager makes a key and keeps it. There is nothing to remember, and nothing that could be stolen from us."
          >
            <SignUpForm
              shortName={session.service.shortName}
              action="Create the account with a passkey"
              create={(who) => signUpWithPasskey(who, browserInWords(navigator.userAgent))}
              onDone={onDone}
            />
          </Clause>
        )}
        {session.signInProviders.length > 0 && (
          <Clause
            title="With an account that you have"
            lead="You choose your name and username afterwards."
          >
            <SignInProviders providers={session.signInProviders} verb="Continue with" />
          </Clause>
        )}
      </Sheet>
      <HaveOne />
    </Page>
  )
}

function ByProvider({ session, provider, onDone }: WayProps & { readonly provider: string }) {
  const label = session.signInProviders.find(({ id }) => id === provider)?.label ?? provider
  return (
    <Page
      title="Create your account"
      lead={`${label} has confirmed who you are to them. No account here belongs to you yet.`}
      width="narrow"
    >
      <Sheet>
        <Clause
          title="How you will be known here"
          lead="Neither needs to be what you use elsewhere."
        >
          <SignUpForm
            shortName={session.service.shortName}
            action="Create the account"
            create={(who) => send<SignedUp>('POST', '/api/sign-up/provider', who)}
            onDone={onDone}
          />
        </Clause>
      </Sheet>
      <HaveOne />
    </Page>
  )
}

function SignedInNow({ owner }: { readonly owner: Owner }) {
  return (
    <Note>
      You are signed in as {owner.displayName}. A new account takes the place of that sign-in.{' '}
      <Link to="/agents" className="font-medium text-accent underline">
        Back to your agents
      </Link>
    </Note>
  )
}

function HaveOne() {
  return (
    <p className="text-soft">
      You have an account?{' '}
      <Link to="/sign-in" className="font-medium text-accent underline">
        Sign in
      </Link>
    </p>
  )
}

function KeepTheCodes({ owner, recoveryCodes }: SignedUp) {
  const navigate = useNavigate()
  return (
    <Page
      title="Keep your recovery codes"
      lead="Should you ever lose your passkey, one of these lets you in. Each works once. Put them where you keep what matters, and not on this device alone."
      width="narrow"
      step="codes"
    >
      <Sheet>
        <Clause title={`Welcome, ${owner.displayName}`}>
          <RecoveryCodes
            owner={owner}
            codes={recoveryCodes}
            action="Go on: prove who you are"
            onDone={() => void navigate({ to: '/identity' })}
          />
        </Clause>
      </Sheet>
    </Page>
  )
}
