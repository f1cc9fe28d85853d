import { useQuery } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import { sessionQuery } from '../api/queries.ts'
import { buttonClass } from '../components/button.tsx'
import { DateTime } from '../components/date-time.tsx'
import { Note } from '../components/error-note.tsx'

/** Reminds owners to renew a verification, except on the page where they do so. */
export function RenewalNote() {
  const renewal = useQuery(sessionQuery).data?.renewal
  const { pathname } = useLocation()
  if (!renewal || pathname.endsWith('/identity')) return null
  const { label, expiresAt, expired } = renewal
  return (
    <aside aria-label="Your identity" className="mb-8">
      <Note tone="warn">
        <div className="flex flex-wrap items-center justify-between gap-3">
          <p className="max-w-2xl text-pretty">
            {expired ? (
              <>
                Your verification by {label} expired on <DateTime at={expiresAt} />. Lookups of your
                agents no longer show it.
              </>
            ) : (
              <>
                Your verification by {label} expires on <DateTime at={expiresAt} />. Renew it before
                then to keep your agents’ grades.
              </>
            )}
          </p>
          <Link to="/identity" className={buttonClass('secondary', 'small')}>
            {expired ? 'Verify again' : 'Renew verification'}
          </Link>
        </div>
      </Note>
    </aside>
  )
}
