import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useService } from '../../agents/use-service.ts'
import { identityQuery } from '../../api/queries.ts'
import { buttonClass } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Skeleton } from '../../components/skeleton.tsx'

/** Shown to owners without agents. The checklist above lists the steps. */
export function NoAgents() {
  const identity = useQuery(identityQuery)
  const { name } = useService()
  const verified = identity.data?.verifications.some((each) => !each.expired)

  return (
    <div className="flex flex-col items-start gap-5 rounded-2xl border border-line-strong border-dashed p-6 sm:p-10">
      <h2 className="font-semibold text-xl tracking-tight">No agents yet</h2>
      <p className="max-w-2xl text-pretty text-soft">
        {name} issues a certificate to each of your agents. It names you as the verified owner, and
        the agent proves possession of its key. You can revoke it at any time.
      </p>
      <ErrorNote error={identity.error} onRetry={() => void identity.refetch()} />
      {identity.isPending && <Skeleton className="h-11 w-52" />}
      {verified === true && (
        <Link to="/claim" state={{ createToken: true }} className={buttonClass('primary')}>
          Create claim token
        </Link>
      )}
      {verified === false && (
        <Link to="/identity" className={buttonClass('primary')}>
          Verify your identity
        </Link>
      )}
    </div>
  )
}
