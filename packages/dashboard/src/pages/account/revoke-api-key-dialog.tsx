import type { ApiKey } from '@countersign/protocol'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { CheckField } from '../../components/field.tsx'
import { Loading } from '../../components/skeleton.tsx'
import { toast } from '../../components/toast.tsx'
import { refreshWebhooks, webhooksQuery } from '../webhooks/queries.ts'

interface RevokeApiKeyDialogProps {
  readonly apiKey: ApiKey
  readonly onClose: () => void
  readonly onRevoked: () => Promise<unknown>
}

/** Asks for confirmation, and whether to disable the webhook endpoints that the key created: they outlast it. */
export function RevokeApiKeyDialog({ apiKey, onClose, onRevoked }: RevokeApiKeyDialogProps) {
  const { id, name } = apiKey
  const queries = useQueryClient()
  const { data, error, refetch } = useQuery(webhooksQuery)
  const [disables, setDisables] = useState(true)
  const created = data?.webhooks.filter(
    ({ createdByKey, state }) => createdByKey === id && state !== 'disabled',
  )
  const disabled = disables ? (created?.length ?? 0) : 0

  async function revoke() {
    const query = disabled > 0 ? '?disableWebhooks=true' : ''
    await send('DELETE', `/api/account/api-keys/${encodeURIComponent(id)}${query}`)
    await Promise.all([onRevoked(), refreshWebhooks(queries)])
    toast(
      disabled > 0
        ? 'The API key is revoked, its webhooks are disabled.'
        : 'The API key is revoked.',
    )
  }

  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={`Revoke the API key ${name}?`}
      action="Revoke the API key"
      danger
      ready={created !== undefined || error !== null}
      onConfirm={revoke}
    >
      <p>Programs that use it get an error from now on. You cannot undo this.</p>
      {created === undefined && error === null && <Loading what="its webhooks" />}
      <ErrorNote error={error} onRetry={() => void refetch()} />
      {created !== undefined && created.length > 0 && (
        <>
          <p>It created these webhook endpoints or gave them their URL. They outlast the key:</p>
          <ul className="flex list-disc flex-col gap-1 pl-5">
            {created.map(({ id: webhook, url }) => (
              <li key={webhook} className="wrap-anywhere font-mono text-sm leading-6">
                {url}
              </li>
            ))}
          </ul>
          <CheckField
            label="Disable these endpoints too"
            checked={disables}
            onChange={(event) => setDisables(event.target.checked)}
          />
        </>
      )}
    </ConfirmDialog>
  )
}
