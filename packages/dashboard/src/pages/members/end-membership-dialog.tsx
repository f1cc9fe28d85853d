import type { EndedAccess, Members } from '@countersign/protocol'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { dashboardOf, loadPage, organisation } from '../../api/acting-for.ts'
import { send } from '../../api/client.ts'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { MEMBERS_PATH, membersQuery } from '../../organisations/queries.ts'
import { EndedDialog } from './ended-dialog.tsx'
import { agentCount } from './ended-texts.ts'

interface EndMembershipDialogProps {
  readonly member: Members['members'][number]
  readonly onClose: () => void
}

/** Removes a member, or leaves the organisation, after listing the effects. Then shows what ended and what to review. */
export function EndMembershipDialog({ member, onClose }: EndMembershipDialogProps) {
  const { id, displayName, you, responsibleFor } = member
  const [ended, setEnded] = useState<EndedAccess | null>(null)
  const withRecentSignIn = useRecentSignIn()
  const queries = useQueryClient()
  const [who, whose] = you ? ['You', 'Your'] : ['They', 'Their']

  async function end() {
    const path = `${MEMBERS_PATH}/${encodeURIComponent(id)}`
    setEnded(await withRecentSignIn(() => send<EndedAccess>('DELETE', path)))
  }

  if (ended !== null) {
    return (
      <EndedDialog
        title={you ? `You left @${organisation}` : `${displayName} is no longer a member`}
        ended={ended}
        isOwn={you}
        onClose={() => {
          if (you) return void loadPage(dashboardOf(null))
          // The item of the member, and with it this dialog, goes with the list.
          onClose()
          void queries.invalidateQueries(membersQuery)
        }}
      />
    )
  }
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={you ? `Leave @${organisation}?` : `Remove ${displayName}?`}
      action={you ? 'Leave the organisation' : 'Remove the member'}
      danger
      onConfirm={end}
      onDone={() => {}}
    >
      <ul className="flex list-disc flex-col gap-1.5 pl-5 text-pretty">
        <li>
          {who} can no longer act for @{organisation}, from the next request on.
        </li>
        <li>
          {whose} API keys and unused claim tokens end. So do key recoveries and transfers that{' '}
          {you ? 'you' : 'they'} started.
        </li>
        {responsibleFor > 0 && (
          <li>{agentCount(responsibleFor)} will have no responsible person.</li>
        )}
        <li>
          Webhooks and grant issuers that {you ? 'you' : 'they'} created go on.
          {!you && ' You see them next, to review them.'}
        </li>
      </ul>
    </ConfirmDialog>
  )
}
