import { includesRole, type OwnerApproval } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { dashboardOf, loadPage, organisation } from '../../api/acting-for.ts'
import { ApiError, get } from '../../api/client.ts'
import { sessionQuery } from '../../api/queries.ts'
import { APPROVALS_KEY, approvalQuery, pathOf } from '../../approvals/queries.ts'
import { buttonClass } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Page } from '../../components/page.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { useCountdown } from '../../components/use-countdown.ts'
import { DecisionForm } from './decision-form.tsx'
import { Outcome } from './outcome.tsx'
import { RequestDetails } from './request-details.tsx'
import { type ShownRequest, shownRequest } from './shown-request.ts'
import { STATE_NAMES } from './texts.ts'

const route = getRouteApi('/signed-in/approvals/$approval')

/** One request that an agent asks its owner to approve. */
export function ApprovalPage() {
  const { approval: id } = route.useParams()
  const { data: approval, error, isPending, refetch } = useQuery(approvalQuery(id))
  if (approval) return <LoadedApproval key={id} approval={approval} />
  if (error instanceof ApiError && error.status === 404) return <NotFound id={id} />
  if (isPending) return <Placeholder />
  return (
    <Page title="Approval" width="narrow">
      <ErrorNote error={error} onRetry={() => void refetch()} />
    </Page>
  )
}

function Placeholder() {
  return (
    <Page title="Approval" width="narrow">
      <Loading what="the approval" />
      <Skeleton className="h-120 rounded-2xl" />
    </Page>
  )
}

/** The link that an agent prints names no owner: an organisation of the person may have the approval. */
function NotFound({ id }: { readonly id: string }) {
  const session = useQuery(sessionQuery).data
  const candidates =
    organisation === null
      ? (session?.organisations.filter(({ role }) => includesRole(role, 'manager')) ?? [])
      : []
  const { isPending } = useQuery({
    queryKey: [...APPROVALS_KEY, 'owner', id],
    queryFn: async () => {
      for (const { username } of candidates) {
        const owned = await get(`${pathOf(id)}?organisation=${username}`).catch(() => null)
        if (owned !== null) await loadPage(`${dashboardOf(username)}/approvals/${id}`)
      }
      return null
    },
    enabled: session !== undefined,
    refetchOnWindowFocus: false,
  })
  if (isPending) return <Placeholder />
  return (
    <Page
      title="Approval not found"
      lead="The address may be mistyped, or the agent has asked another owner."
      width="narrow"
    >
      <Link to="/approvals" className={`self-start ${buttonClass('primary')}`}>
        Show your approvals
      </Link>
    </Page>
  )
}

function LoadedApproval({ approval }: { readonly approval: OwnerApproval }) {
  // Read once: what a person has read does not change under their eyes, whatever the service sends later.
  const [shown] = useState(() => shownRequest(approval))
  const { state, expiresAt, bodyDigest, body } = approval
  const isPending = state === 'pending'
  return (
    <Page
      title={isPending ? 'Approve once?' : STATE_NAMES[state]}
      step={isPending ? 'decide' : 'decided'}
      lead={isPending && <TimeLeft until={expiresAt} />}
      width="narrow"
    >
      <div className="-mt-4 flex flex-col gap-6">
        {!isPending && <Outcome approval={approval} />}
        <RequestDetails shown={shown} isDeleted={bodyDigest !== null && body === null} />
        {canRepeat(approval, shown) && (
          <Link
            to="/approvals/$approval/mandate"
            params={{ approval: shown.id }}
            className={buttonClass()}
          >
            Allow requests like this
          </Link>
        )}
        {isPending && <DecisionForm shown={shown} isFirstForOrigin={approval.firstForOrigin} />}
        <Link to="/approvals" className="w-fit text-accent underline">
          All approvals
        </Link>
      </div>
    </Page>
  )
}

/** Whether a mandate can be made from an approval. The service also asks whether the agent has changed since. */
function canRepeat({ state, by, bodyDigest, body }: OwnerApproval, { fault }: ShownRequest) {
  const isDeleted = bodyDigest !== null && body === null
  return state === 'approved' && by === 'passkey' && !isDeleted && fault === null
}

/** Says first that the approval counts once, and how long there is to decide. */
function TimeLeft({ until }: { readonly until: string }) {
  const left = useCountdown(Date.parse(until))
  return (
    <>
      Valid once.{' '}
      <span role="timer" aria-label="Time left" className={left <= 60 ? 'text-bad' : ''}>
        <span className="font-semibold tabular-nums">{clock(left)}</span> left to decide.
      </span>
    </>
  )
}

/** Such as `14:05`, or `23:14:05`. @param seconds a whole number */
function clock(seconds: number): string {
  const two = (value: number) => String(Math.floor(value) % 60).padStart(2, '0')
  const minutes = seconds / 60
  if (minutes < 60) return `${Math.floor(minutes)}:${two(seconds)}`
  return `${Math.floor(minutes / 60)}:${two(minutes)}:${two(seconds)}`
}
