import type { Transfer } from '@countersign/protocol'
import { useId, useState } from 'react'
import { useMay } from '../../api/use-may.ts'
import { Button } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { AcceptDialog } from './accept-dialog.tsx'
import { AgentNames } from './agent-names.tsx'
import { EndDialog } from './end-dialog.tsx'
import { isOpen } from './queries.ts'
import { FAILURES, STATE_NAMES, transferTitle } from './texts.ts'

const TONES: Readonly<Record<Transfer['state'], string>> = {
  offered: 'bg-warn-wash text-warn',
  accepted: 'bg-accent-wash text-accent',
  done: 'bg-good-wash text-good',
  declined: 'bg-sunken text-ink',
  cancelled: 'bg-sunken text-ink',
  expired: 'bg-sunken text-ink',
  failed: 'bg-bad-wash text-bad',
}

/** A transfer with its state, its agents, and what the owner can do about it. */
export function TransferItem({ transfer }: { readonly transfer: Transfer }) {
  const { direction, state } = transfer
  const heading = useId()
  const may = useMay()
  const [dialog, setDialog] = useState<'accept' | 'end' | null>(null)
  const close = () => setDialog(null)
  const title = transferTitle(transfer)
  const isReceived = direction === 'received'
  const mayEnd = isOpen(transfer) && may(isReceived ? 'manager' : 'responder')
  const end = isReceived ? 'Decline …' : 'Cancel …'

  return (
    <li
      aria-labelledby={heading}
      className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3 py-4 first:pt-0 last:pb-0 @2xl:flex-nowrap"
    >
      <div className="flex min-w-0 flex-col gap-1">
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <h3 id={heading} className="wrap-anywhere font-medium">
            {title}
          </h3>
          <span
            className={`whitespace-nowrap rounded-full px-2.5 py-0.5 font-medium text-sm ${TONES[state]}`}
          >
            {STATE_NAMES[state]}
          </span>
        </div>
        <p className="text-pretty text-soft text-sm">
          <StateText transfer={transfer} />
        </p>
        <AgentNames transfer={transfer} />
      </div>
      <div className="flex shrink-0 flex-wrap gap-3 empty:hidden">
        {isReceived && state === 'offered' && may('manager') && (
          <Button
            size="small"
            variant="primary"
            aria-label={`Accept …: ${title}`}
            onClick={() => setDialog('accept')}
          >
            Accept …
          </Button>
        )}
        {mayEnd && (
          <Button size="small" aria-label={`${end}: ${title}`} onClick={() => setDialog('end')}>
            {end}
          </Button>
        )}
      </div>
      {dialog === 'accept' && <AcceptDialog transfer={transfer} onClose={close} />}
      {dialog === 'end' && <EndDialog transfer={transfer} onClose={close} />}
    </li>
  )
}

function StateText({ transfer }: { readonly transfer: Transfer }) {
  const { direction, state, expiresAt, effectiveAt, endedAt, failure } = transfer
  const ended = endedAt === null ? null : <DateTime at={endedAt} as="minute" />
  if (state === 'offered') {
    return (
      <>
        {direction === 'sent' ? 'The receiver can accept it until ' : 'You can accept it until '}
        <DateTime at={expiresAt} as="minute" />.
      </>
    )
  }
  if (state === 'accepted' && effectiveAt !== null) {
    return (
      <>
        The agents move on <DateTime at={effectiveAt} as="minute" />.
      </>
    )
  }
  if (state === 'failed') {
    return (
      <>
        Ended on {ended}: {FAILURES[failure ?? ''] ?? `error ${failure}.`} All agents stayed with
        the sender.
      </>
    )
  }
  return (
    <>
      {STATE_NAMES[state]} on {ended}.
    </>
  )
}
