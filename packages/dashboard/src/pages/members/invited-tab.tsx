import type { Invitations } from '@countersign/protocol'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { send } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Section } from '../../components/page.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'
import { INVITED_PATH, invitedQuery } from '../../organisations/queries.ts'
import { RoleMark } from '../../organisations/role-mark.tsx'
import { InviteDialog } from './invite-dialog.tsx'

/** The open invitations of the organisation. */
export function InvitedTab() {
  const { data, error, isPending, refetch } = useQuery(invitedQuery)
  const [inviting, setInviting] = useState(false)
  return (
    <Section
      title="Open invitations"
      lead="Each is valid for 7 days. A second one to the same person replaces the first."
      actions={
        <Button variant="primary" onClick={() => setInviting(true)}>
          Invite someone
        </Button>
      }
    >
      <ErrorNote error={error} onRetry={() => void refetch()} />
      {isPending && (
        <>
          <Loading what="the invitations" />
          <Skeleton className="h-24" />
        </>
      )}
      {data?.invitations.length === 0 && <p>No open invitations</p>}
      {data !== undefined && data.invitations.length > 0 && (
        <ul className="@container flex flex-col divide-y divide-line">
          {data.invitations.map((each) => (
            <Item key={each.id} invitation={each} />
          ))}
        </ul>
      )}
      {inviting && <InviteDialog onClose={() => setInviting(false)} />}
    </Section>
  )
}

interface ItemProps {
  readonly invitation: Invitations['invitations'][number]
}

function Item({ invitation }: ItemProps) {
  const { id, email, username, role, invitedBy, expiresAt } = invitation
  const heading = useId()
  const queries = useQueryClient()
  const target = email ?? `@${username}`
  const withdraw = useAction(async () => {
    await send('DELETE', `${INVITED_PATH}/${encodeURIComponent(id)}`).finally(() =>
      queries.invalidateQueries(invitedQuery),
    )
    toast(`The invitation of ${target} is withdrawn.`)
  })
  return (
    <li aria-labelledby={heading} className="flex flex-col gap-3 py-4 first:pt-0 last:pb-0">
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3 @2xl:flex-nowrap">
        <div className="flex min-w-0 flex-col gap-1">
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <h3 id={heading} className="wrap-anywhere font-medium">
              {target}
            </h3>
            <RoleMark role={role} />
          </div>
          <p className="wrap-anywhere text-soft text-sm">
            Invited by {invitedBy.displayName ?? 'a former member'}. Expires on{' '}
            <DateTime at={expiresAt} />.
          </p>
        </div>
        <Button
          size="small"
          aria-label={`Withdraw: ${target}`}
          pending={withdraw.pending}
          onClick={withdraw.run}
        >
          Withdraw
        </Button>
      </div>
      <ErrorNote error={withdraw.error} />
    </li>
  )
}
