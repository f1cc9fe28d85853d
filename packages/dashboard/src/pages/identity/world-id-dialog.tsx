import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { create } from 'qrcode'
import { useEffect, useEffectEvent, useState } from 'react'
import { send } from '../../api/client.ts'
import { Button, buttonClass } from '../../components/button.tsx'
import { Dialog, DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Skeleton } from '../../components/skeleton.tsx'
import { startWorldId } from '../../identity/world-id.ts'
import type { ProviderClient } from './use-verify.ts'

interface WorldIdDialogProps {
  readonly provider: string
  readonly label: string
  readonly client: ProviderClient
  readonly onClose: () => void
}

/** Shows a QR code for World App and waits for its proof. */
export default function WorldIdDialog({ provider, label, client, onClose }: WorldIdDialogProps) {
  const { uri, error } = useProof(client, useVerified(provider, onClose))
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Verify with ${label}`}
      description="Scan this code with World App on your phone and approve the request. The code expires after five minutes."
    >
      {error === null && (
        <div className="flex flex-col items-center gap-4">
          {uri === null ? (
            <Skeleton className="size-60" />
          ) : (
            <QrCode text={uri} label="QR code for World App" />
          )}
          <p role="status" className="text-soft">
            {uri === null ? 'Preparing …' : 'Waiting for World App …'}
          </p>
        </div>
      )}
      <ErrorNote error={error} />
      <DialogActions>
        {uri !== null && error === null && (
          <a href={uri} target="_blank" rel="noopener" className={buttonClass()}>
            Open World App on this device
          </a>
        )}
        <Button onClick={onClose}>{error === null ? 'Cancel' : 'Close'}</Button>
      </DialogActions>
    </Dialog>
  )
}

/** @returns submits the proof, then shows the result like that of other providers */
function useVerified(provider: string, onClose: () => void) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  return async (result: unknown) => {
    await send('POST', `/api/identity/${encodeURIComponent(provider)}/complete`, { result })
    await queries.invalidateQueries()
    onClose()
    await navigate({ to: '/identity', search: { verified: provider } })
  }
}

function useProof(client: ProviderClient, onProof: (result: unknown) => Promise<void>) {
  const [uri, setUri] = useState<string | null>(null)
  const [error, setError] = useState<unknown>(null)
  const proven = useEffectEvent(onProof)

  useEffect(() => {
    const stop = new AbortController()
    async function wait() {
      const { connectorUri, result } = await startWorldId(client, stop.signal)
      if (!stop.signal.aborted) setUri(connectorUri)
      await proven(await result)
    }
    wait().catch((cause: unknown) => {
      if (!stop.signal.aborted) setError(cause)
    })
    return () => stop.abort()
  }, [client])

  return { uri, error }
}

interface QrCodeProps {
  readonly text: string
  /** The accessible name. */
  readonly label: string
}

/** The quiet zone that readers need (ISO/IEC 18004), in modules. */
const QUIET = 4

/** Dark on white in both themes, because some readers cannot read inverted codes. */
function QrCode({ text, label }: QrCodeProps) {
  const { size, data } = create(text, { errorCorrectionLevel: 'M' }).modules
  const dark = Array.from(data, (module, at) =>
    module ? `M${at % size} ${Math.floor(at / size)}h1v1h-1z` : '',
  )
  const side = size + 2 * QUIET
  return (
    <svg
      viewBox={`${-QUIET} ${-QUIET} ${side} ${side}`}
      role="img"
      aria-label={label}
      shapeRendering="crispEdges"
      className="size-60 rounded-lg"
    >
      <rect x={-QUIET} y={-QUIET} width={side} height={side} fill="#fff" />
      <path d={dark.join('')} fill="#000" />
    </svg>
  )
}
