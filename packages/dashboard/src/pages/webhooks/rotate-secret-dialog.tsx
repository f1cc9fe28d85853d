import type { CreatedWebhook } from '@countersign/protocol'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { CheckField } from '../../components/field.tsx'
import { pathOf } from './queries.ts'

interface RotateSecretDialogProps {
  readonly webhookId: string
  readonly onClose: () => void
  readonly onRotated: (webhook: CreatedWebhook) => void
}

/** Asks whether the current secret has leaked, and gives the endpoint another one. */
export function RotateSecretDialog({ webhookId, onClose, onRotated }: RotateSecretDialogProps) {
  const [leaked, setLeaked] = useState(false)

  async function rotate() {
    const body = leaked ? { overlapHours: 0 } : {}
    onRotated(await send<CreatedWebhook>('POST', `${pathOf(webhookId)}/rotate-secret`, body))
  }

  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title="Rotate the secret?"
      action="Rotate the secret"
      danger={leaked}
      onConfirm={rotate}
    >
      <p>
        {leaked
          ? 'Deliveries are signed with the new secret only, from now on. Your receiver rejects them until it has the new secret; they are sent again.'
          : 'For 24 hours, deliveries are signed with both secrets. Replace the secret in your receiver within that time.'}
      </p>
      <CheckField
        label="The current secret has leaked: stop using it now"
        checked={leaked}
        onChange={(event) => setLeaked(event.target.checked)}
      />
    </ConfirmDialog>
  )
}
