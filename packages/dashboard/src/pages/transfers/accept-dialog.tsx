import type { Transfer } from '@countersign/protocol'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { gradeWithOwner, isVerified } from '../../agents/grade-with-owner.ts'
import { organisation } from '../../api/acting-for.ts'
import { send } from '../../api/client.ts'
import { identityQuery } from '../../api/queries.ts'
import { Button, buttonClass } from '../../components/button.tsx'
import { ConfirmDialog, Dialog, DialogActions } from '../../components/dialog.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { toast } from '../../components/toast.tsx'
import { refreshTransfers, TRANSFERS_PATH } from './queries.ts'
import { transferTitle } from './texts.ts'

interface AcceptDialogProps {
  readonly transfer: Transfer
  readonly onClose: () => void
}

/** Accepts offered agents, after listing what follows. Only verified owners can. */
export function AcceptDialog({ transfer, onClose }: AcceptDialogProps) {
  const identity = useQuery(identityQuery).data
  const queries = useQueryClient()
  const withRecentSignIn = useRecentSignIn()

  async function accept() {
    const path = `${TRANSFERS_PATH}/${encodeURIComponent(transfer.id)}/accept`
    await withRecentSignIn(() => send<Transfer>('POST', path))
    await refreshTransfers(queries)
    toast('The transfer was accepted.')
  }

  if (identity !== undefined && !isVerified(identity)) {
    const whose = organisation === null ? 'your identity' : 'the organisation'
    return (
      <Dialog
        open
        onClose={onClose}
        title={`Verify ${whose} first`}
        description="Only owners with a current identity verification take over agents."
      >
        <DialogActions>
          <Link to="/identity" className={buttonClass('primary')}>
            Continue to identity verification
          </Link>
          <Button onClick={onClose}>Cancel</Button>
        </DialogActions>
      </Dialog>
    )
  }
  // Channels of the former owner prove nothing about this one.
  const grade = identity && gradeWithOwner({ status: 'active', tier: null }, identity)
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={`Accept ${transferTitle(transfer)}?`}
      action="Accept the agents"
      onConfirm={accept}
    >
      <ul className="flex list-disc flex-col gap-1.5 pl-5 text-pretty">
        <li>
          {organisation === null ? 'You become' : 'The organisation becomes'} the owner after a
          delay. Until then, the sender can cancel.
        </li>
        <li>
          Channels have to be proven again.
          {grade !== undefined && ` Until then, an active agent has grade ${grade}.`}
        </li>
        <li>The sender may still have the keys. Rotate the key of each agent after the move.</li>
        <li>
          Their delegations end, and they get no grants until you assign them to a grant issuer.
        </li>
        {organisation !== null && <li>You become responsible for the agents.</li>}
        <li>
          What happened before stays with the sender. Certificates show when the owner changed.
        </li>
      </ul>
    </ConfirmDialog>
  )
}
