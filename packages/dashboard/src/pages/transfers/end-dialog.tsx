import type { Transfer } from '@countersign/protocol'
import { useQueryClient } from '@tanstack/react-query'
import { send } from '../../api/client.ts'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { toast } from '../../components/toast.tsx'
import { refreshTransfers, TRANSFERS_PATH } from './queries.ts'
import { transferTitle } from './texts.ts'

interface EndDialogProps {
  readonly transfer: Transfer
  readonly onClose: () => void
}

/** Confirms that a received transfer is declined, or a sent one cancelled. */
export function EndDialog({ transfer, onClose }: EndDialogProps) {
  const { id, direction } = transfer
  const queries = useQueryClient()
  const isReceived = direction === 'received'

  async function end() {
    const verb = isReceived ? 'decline' : 'cancel'
    await send<Transfer>('POST', `${TRANSFERS_PATH}/${encodeURIComponent(id)}/${verb}`)
    await refreshTransfers(queries)
    toast(isReceived ? 'The transfer was declined.' : 'The transfer was cancelled.')
  }

  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={isReceived ? 'Decline the transfer?' : 'Cancel the transfer?'}
      action={isReceived ? 'Decline the transfer' : 'Cancel the transfer'}
      cancel="Keep it open"
      onConfirm={end}
    >
      <p>
        {transferTitle(transfer)}.{' '}
        {isReceived ? 'The agents stay with the sender.' : 'The agents stay with this owner.'} The
        other owner is notified.
      </p>
    </ConfirmDialog>
  )
}
