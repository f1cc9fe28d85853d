import type { OwnInvitations } from '@countersign/protocol'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useId } from 'react'
import { dashboardOf, loadPage } from '../../api/acting-for.ts'
import { send } from '../../api/client.ts'
import { sessionQuery } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Page } from '../../components/page.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'
import { INVITATIONS_PATH, invitationsQuery } from '../../organisations/queries.ts'
import { ROLE_NAMES, ROLE_TEXTS } from '../../organisations/roles.ts'

type Invitation = OwnInvitations['invitations'][number]

/** The invitations to the person who is signed in. */
export function InvitationsPage() {
  const { data, error, isPending, refetch } = useQuery(invitationsQuery)
  return (
    <Page
      title="Invitations"
      lead="Organisations that invite you to act for them. Your own account and agents do not change."
    >
      <ErrorNote error={error} onRetry={() => void refetch()} />
      {isPending && (
        <>
          <Loading what="your invitations" />
          <Skeleton className="h-40 rounded-2xl" />
        </>
      )}
      {data?.invitations.length === 0 && (
        <p className="rounded-2xl border border-line-strong border-dashed p-6 text-pretty sm:p-10">
          No invitations. If you expect one to an e-mail address, verify that address in your
          account first.
        </p>
      )}
      {data !== undefined && data.invitations.length > 0 && (
        <ul className="flex flex-col gap-4">
          {data.invitations.map((each) => (
            <Item key={each.id} invitation={each} />
          ))}
        </ul>
      )}
    </Page>
  )
}

function Item({ invitation }: { readonly invitation: Invitation }) {
  const { id, organisation, role, invitedBy, expiresAt } = invitation
  const heading = useId()
  const queries = useQueryClient()
  const path = `${INVITATIONS_PATH}/${encodeURIComponent(id)}`
  const refresh = () =>
    Promise.all([
      queries.invalidateQueries(invitationsQuery),
      queries.invalidateQueries(sessionQuery),
    ])
  const accept = useAction(async () => {
    // Repeats the role that is shown: if it has changed meanwhile, the service refuses.
    await send('POST', `${path}/accept`, { role }).catch(async (cause) => {
      await refresh()
      throw cause
    })
    await loadPage(dashboardOf(organisation.username))
  })
  const decline = useAction(async () => {
    await send('POST', `${path}/decline`)
    await refresh()
    toast(`You declined the invitation of @${organisation.username}.`)
  })

  return (
    <li
      aria-labelledby={heading}
      className="flex flex-col gap-4 rounded-2xl border border-line bg-surface p-5 sm:p-6"
    >
      <div>
        <h2 id={heading} className="wrap-anywhere font-semibold text-xl tracking-tight">
          @{organisation.username}
        </h2>
        <p className="wrap-anywhere text-soft">
          Calls itself “{organisation.displayName}”. Invited by “{invitedBy}”.
        </p>
      </div>
      <dl className="grid gap-x-10 gap-y-4 sm:grid-cols-2">
        <div className="min-w-0">
          <dt className="text-soft text-sm">Verified domain</dt>
          <dd className="wrap-anywhere">
            {organisation.domain === null ? (
              'None'
            ) : (
              <strong className="font-semibold">{organisation.domain}</strong>
            )}
          </dd>
        </div>
        <div>
          <dt className="text-soft text-sm">Expires</dt>
          <dd>
            <DateTime at={expiresAt} />
          </dd>
        </div>
        <div className="sm:col-span-2">
          <dt className="text-soft text-sm">Your role</dt>
          <dd className="text-pretty">
            <strong className="font-semibold">{ROLE_NAMES[role]}.</strong> {ROLE_TEXTS[role]}
          </dd>
        </div>
      </dl>
      <div className="flex flex-wrap gap-3">
        <Button
          variant="primary"
          pending={accept.pending}
          aria-label={`Accept as ${ROLE_NAMES[role]}: @${organisation.username}`}
          onClick={accept.run}
        >
          Accept as {ROLE_NAMES[role]}
        </Button>
        <Button
          pending={decline.pending}
          aria-label={`Decline: @${organisation.username}`}
          onClick={decline.run}
        >
          Decline
        </Button>
      </div>
      <ErrorNote error={accept.error ?? decline.error} />
    </li>
  )
}
