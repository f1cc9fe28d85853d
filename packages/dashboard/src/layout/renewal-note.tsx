import { useQuery } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import { sessionQuery } from '../api/session.ts'
import { buttonClass } from '../parts/button.tsx'
import { Note } from '../parts/error-note.tsx'
import { Moment } from '../parts/moment.tsx'

/** Said on every page but the one where it is done: agents lose what they stand on when a verification ends. */
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
                Your verification by {label} ended on <Moment at={expiresAt} />. Whoever looks up
                your agents is told that nobody with a verified identity stands behind them.
              </>
            ) : (
              <>
                Your verification by {label} ends on <Moment at={expiresAt} />. Renew it before
                then, so that your agents keep their grade.
              </>
            )}
          </p>
          <Link to="/identity" className={buttonClass('secondary', 'small')}>
            {expired ? 'Verify again' : 'Renew it'}
          </Link>
        </div>
      </Note>
    </aside>
  )
}
