import { type Account, describeBrowser, type SignInMethod } from '@countersign/protocol'
import { useId, useState } from 'react'
import { send } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { SheetSection } from '../../components/sheet.tsx'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'
import { useRefreshAccount } from './use-refresh-account.ts'

type SessionEntry = Account['sessions'][number]

const METHODS: Record<SignInMethod, string> = {
  passkey: 'a passkey',
  'recovery-code': 'a recovery code',
  link: 'a sign-in link',
  provider: 'another account',
}

export function SessionsSection({ account }: { readonly account: Account }) {
  const withRecentSignIn = useRecentSignIn()
  const refreshAccount = useRefreshAccount()
  const [ending, setEnding] = useState(false)
  const sessions = [...account.sessions].sort((a, b) => Number(b.current) - Number(a.current))

  async function endOthers() {
    await withRecentSignIn(() => send('DELETE', '/api/account/sessions'))
    await refreshAccount()
    toast('All other sessions ended.')
  }

  return (
    <SheetSection
      title="Sessions"
      lead="If you do not recognize a session, end it and review your passkeys."
    >
      <ul className="flex flex-col divide-y divide-line">
        {sessions.map((each) => (
          <SessionItem key={each.id} session={each} />
        ))}
      </ul>
      {sessions.length > 1 && (
        <Button size="small" className="self-start" onClick={() => setEnding(true)}>
          End all other sessions …
        </Button>
      )}
      <ConfirmDialog
        open={ending}
        onClose={() => setEnding(false)}
        title="End all other sessions?"
        action="End other sessions"
        danger
        onConfirm={endOthers}
      >
        <p>All other browsers and programs are signed out at once.</p>
      </ConfirmDialog>
    </SheetSection>
  )
}

function SessionItem({ session }: { readonly session: SessionEntry }) {
  const { id, current, method, browser, createdAt, lastSeenAt, expiresAt } = session
  const heading = useId()
  const browserText = describeBrowser(browser)
  const refreshAccount = useRefreshAccount()
  const end = useAction(async () => {
    await send('DELETE', `/api/account/sessions/${encodeURIComponent(id)}`)
    await refreshAccount()
    toast('Session ended.')
  })

  return (
    <li aria-labelledby={heading} className="flex flex-col gap-3 py-4 first:pt-0 last:pb-0">
      <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-3 @2xl:flex-nowrap">
        <div className="min-w-0">
          <h3 id={heading} className="font-medium" title={browser}>
            {browserText}
            {current && (
              <span className="ml-3 rounded-full bg-good-wash px-2.5 py-0.5 font-medium text-good text-sm">
                This session
              </span>
            )}
          </h3>
          <p className="text-soft text-sm">
            Signed in with {METHODS[method]} on <DateTime at={createdAt} as="minute" />. Last used{' '}
            <DateTime at={lastSeenAt} as="ago" />. Expires on <DateTime at={expiresAt} />.
          </p>
        </div>
        {!current && (
          <Button
            size="small"
            aria-label={`End the session of ${browserText}`}
            pending={end.pending}
            onClick={end.run}
          >
            End
          </Button>
        )}
      </div>
      <ErrorNote error={end.error} />
    </li>
  )
}
