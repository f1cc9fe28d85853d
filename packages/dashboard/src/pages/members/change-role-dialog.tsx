import { type EndedAccess, includesRole, type Members } from '@countersign/protocol'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { Note } from '../../components/error-note.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { toast } from '../../components/toast.tsx'
import { MEMBERS_PATH } from '../../organisations/queries.ts'
import { RoleField } from '../../organisations/role-field.tsx'
import { ROLE_NAMES } from '../../organisations/roles.ts'
import { EndedDialog } from './ended-dialog.tsx'
import { isNothing } from './ended-texts.ts'

interface ChangeRoleDialogProps {
  readonly member: Members['members'][number]
  readonly onClose: () => void
}

/** Gives a member another role. What a lower role no longer allows ends, and is shown then. */
export function ChangeRoleDialog({ member, onClose }: ChangeRoleDialogProps) {
  const { id, displayName, role: current, source, you } = member
  const [role, setRole] = useState(current)
  const [ended, setEnded] = useState<EndedAccess | null>(null)
  const withRecentSignIn = useRecentSignIn()
  const queries = useQueryClient()
  const isLower = !includesRole(role, current)

  async function change() {
    const result = await withRecentSignIn(() =>
      send<EndedAccess>('PATCH', `${MEMBERS_PATH}/${encodeURIComponent(id)}`, { role }),
    )
    // The role in the session is among what changed, if it is one's own.
    await queries.invalidateQueries()
    toast(`${displayName} is now ${ROLE_NAMES[role]}.`)
    if (isNothing(result)) onClose()
    else setEnded(result)
  }

  if (ended !== null) {
    return (
      <EndedDialog
        title={`${displayName} is now ${ROLE_NAMES[role]}`}
        ended={ended}
        onClose={onClose}
      />
    )
  }
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={you ? 'Change your role' : `Change the role of ${displayName}`}
      action="Change role"
      ready={role !== current}
      onConfirm={change}
      onDone={() => {}}
    >
      <RoleField role={role} onChange={setRole} />
      {isLower && (
        <Note tone="warn">
          <p>
            What the lower role does not allow ends at once. API keys stay, as far as the role
            allows them.
            {you && ' Only another admin can give you the role again.'}
          </p>
        </Note>
      )}
      {source === 'sso' && (
        <Note>
          <p>From then on, sign-ins at the identity provider no longer change this role.</p>
        </Note>
      )}
    </ConfirmDialog>
  )
}
