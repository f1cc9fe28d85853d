import { useQuery } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import { passkeysUnavailableReason } from '../api/passkeys.ts'
import { accountQuery, sessionQuery } from '../api/queries.ts'
import { buttonClass } from '../components/button.tsx'
import { Note } from '../components/error-note.tsx'

const METHODS = { 'recovery-code': 'a recovery code', link: 'a sign-in link' } as const

/** Asks owners who signed in with a recovery code or a link to add a passkey, until they have added one. */
export function PasskeyPrompt() {
  const session = useQuery(sessionQuery).data
  const method = session?.signInMethod
  const isBackup = method === 'recovery-code' || method === 'link'
  const account = useQuery({ ...accountQuery, enabled: isBackup }).data
  const { pathname } = useLocation()
  if (!isBackup || !session?.signedInAt || account === undefined) return null
  if (passkeysUnavailableReason(session.service) !== null) return null
  const since = Date.parse(session.signedInAt)
  if (account.passkeys.some(({ createdAt }) => Date.parse(createdAt) >= since)) return null
  const { left } = account.recoveryCodes

  return (
    <aside aria-label="Your sign-in" className="mb-8">
      <Note tone="warn">
        <div className="flex flex-wrap items-center justify-between gap-3">
          <p className="max-w-2xl text-pretty">
            You signed in with {METHODS[method]}. Add a passkey to this device, so that you can sign
            in without {METHODS[method]} next time.
            {method === 'recovery-code' &&
              ` ${left === 1 ? '1 recovery code is' : `${left} recovery codes are`} left.`}
          </p>
          {!pathname.endsWith('/account') && (
            <Link to="/account" className={buttonClass('secondary', 'small')}>
              Add a passkey
            </Link>
          )}
        </div>
      </Note>
    </aside>
  )
}
