import type { Members } from '@countersign/protocol'
import { useId, useState } from 'react'
import { useMay } from '../../api/use-may.ts'
import { Button } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { RoleMark } from '../../organisations/role-mark.tsx'
import { ChangeRoleDialog } from './change-role-dialog.tsx'
import { EndMembershipDialog } from './end-membership-dialog.tsx'
import { agentCount } from './ended-texts.ts'

interface MemberItemProps {
  readonly member: Members['members'][number]
}

/** A member with their role, and what an admin or the member can do about it. */
export function MemberItem({ member }: MemberItemProps) {
  const { displayName, username, role, since, you } = member
  const heading = useId()
  const may = useMay()
  const [dialog, setDialog] = useState<'role' | 'end' | null>(null)
  const close = () => setDialog(null)

  return (
    <li
      aria-labelledby={heading}
      className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3 @2xl:flex-nowrap py-4 first:pt-0 last:pb-0"
    >
      <div className="flex min-w-0 flex-col gap-1">
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <h3 id={heading} className="wrap-anywhere font-medium">
            {displayName}
          </h3>
          <RoleMark role={role} />
          {you && <span className="text-soft text-sm">You</span>}
        </div>
        <p className="wrap-anywhere text-soft text-sm">
          {username === undefined ? 'Account of the organisation' : `@${username}`} · member since{' '}
          <DateTime at={since} />
        </p>
        {remarks(member).map((each) => (
          <p key={each} className="text-pretty text-soft text-sm">
            {each}
          </p>
        ))}
      </div>
      {(may('admin') || you) && (
        <div className="flex shrink-0 flex-wrap gap-3">
          {/* The identity provider of the organisation sets the roles of its own accounts. */}
          {may('admin') && username !== undefined && (
            <Button
              size="small"
              aria-label={`Change role: ${displayName}`}
              onClick={() => setDialog('role')}
            >
              Change role
            </Button>
          )}
          <Button
            size="small"
            variant="warning"
            aria-label={you ? undefined : `Remove …: ${displayName}`}
            onClick={() => setDialog('end')}
          >
            {you ? 'Leave …' : 'Remove …'}
          </Button>
        </div>
      )}
      {dialog === 'role' && <ChangeRoleDialog member={member} onClose={close} />}
      {dialog === 'end' && <EndMembershipDialog member={member} onClose={close} />}
    </li>
  )
}

function remarks({ source, emergency, responsibleFor }: MemberItemProps['member']): string[] {
  return [
    ...(responsibleFor > 0 ? [`Responsible for ${agentCount(responsibleFor)}`] : []),
    ...(source === 'sso' ? ['Each sign-in at the identity provider sets the role.'] : []),
    ...(emergency ? ['Emergency admin: signs in with a passkey of their own.'] : []),
  ]
}
