import type { CreatedInvitation, NewInvitation, Role } from '@countersign/protocol'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { sessionQuery } from '../../api/queries.ts'
import { actingIn } from '../../api/use-may.ts'
import { Button } from '../../components/button.tsx'
import { Dialog, DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { TextField } from '../../components/field.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { submitHandler } from '../../components/submit-handler.ts'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'
import { INVITED_PATH, invitedQuery } from '../../organisations/queries.ts'
import { RoleField } from '../../organisations/role-field.tsx'

const IS_EMAIL = /.@/

/** Invites somebody by username or e-mail address. */
export function InviteDialog({ onClose }: { readonly onClose: () => void }) {
  const session = useQuery(sessionQuery).data
  const isVerified = (session && actingIn(session)?.verified) ?? false
  const queries = useQueryClient()
  const withRecentSignIn = useRecentSignIn()
  const [target, setTarget] = useState('')
  const [role, setRole] = useState<Role>('viewer')
  const who = target.trim()
  const isEmail = IS_EMAIL.test(who)
  const refusal =
    isEmail && !isVerified
      ? 'Only verified organisations invite by e-mail. Use a username, or verify the organisation first.'
      : null

  const invite = useAction(async () => {
    if (refusal !== null) return
    const body: NewInvitation = isEmail
      ? { email: who, role }
      : { username: who.replace(/^@/, '').toLowerCase(), role }
    await withRecentSignIn(() => send<CreatedInvitation>('POST', INVITED_PATH, body))
    onClose()
    await queries.invalidateQueries(invitedQuery)
    toast(`${who} is invited. The invitation is valid for 7 days.`)
  })

  return (
    <Dialog
      open
      onClose={onClose}
      title="Invite someone"
      description="They get the invitation on their dashboard and accept it there. A forwarded e-mail gives nobody access."
    >
      <form onSubmit={submitHandler(invite.run)} className="flex flex-col gap-4">
        <TextField
          label="Username or e-mail address"
          hint="The address must be one that they have verified in their own account."
          error={refusal}
          value={target}
          onChange={(event) => setTarget(event.target.value)}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          maxLength={254}
          required
        />
        <RoleField role={role} onChange={setRole} />
        <ErrorNote error={invite.error} />
        <DialogActions>
          <Button type="submit" variant="primary" pending={invite.pending}>
            Send the invitation
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}
