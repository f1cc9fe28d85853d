import { useQuery } from '@tanstack/react-query'
import { dashboardOf } from '../api/acting-for.ts'
import { sessionQuery } from '../api/queries.ts'
import { actingIn } from '../api/use-may.ts'
import { ROLE_NAMES } from '../organisations/roles.ts'

/**
 * Names the organisation that one acts for, on every page, so that nobody acts for the wrong one. Nothing for one's own account.
 * The skeleton in index.html has the same strip.
 */
export function ActingForStrip({ className }: { readonly className: string }) {
  const session = useQuery(sessionQuery).data
  const acting = session && actingIn(session)
  if (session === undefined || acting === undefined) return null
  return (
    <section aria-label="Acting for" className="border-accent border-b-2 bg-accent-wash">
      <div
        className={`${className} flex flex-wrap items-center justify-between gap-x-6 gap-y-0.5 py-2 text-sm`}
      >
        <p className="wrap-anywhere min-w-0">
          Acting for <strong className="font-semibold">{acting.displayName}</strong> @
          {acting.username} · {ROLE_NAMES[acting.role]}
        </p>
        {session.person?.limited === false && (
          <a
            href={dashboardOf(null)}
            className="text-accent underline underline-offset-4 hover:text-accent-strong"
          >
            Your own account
          </a>
        )}
      </div>
    </section>
  )
}
