import { KEY_COMPROMISED, type OwnerAgent } from '@countersign/protocol'
import { StatusMark } from '@countersign/ui'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useRef, useState } from 'react'
import { reasonText } from '../../agents/reasons.ts'
import { useService } from '../../agents/use-service.ts'
import { Button } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { Section } from '../../components/page.tsx'
import { type StatusChange, StatusDialog } from './status-dialog.tsx'

interface StatusSectionProps {
  readonly did: string
  readonly agent: OwnerAgent
}

export function StatusSection({ did, agent }: StatusSectionProps) {
  const [change, setChange] = useState<StatusChange>('suspend')
  const [open, setOpen] = useState(false)
  const statusText = useRef<HTMLDivElement>(null)
  const statusBefore = useRef<string>(agent.status)
  const openDialog = (nextChange: StatusChange) => {
    statusBefore.current = agent.status
    setChange(nextChange)
    setOpen(true)
  }
  const { status, statusSetBy } = agent

  return (
    <Section title="Status" actions={<StatusMark status={status} />}>
      <div
        ref={statusText}
        tabIndex={-1}
        data-status={status}
        className="max-w-2xl text-pretty outline-hidden"
      >
        <StatusText agent={agent} />
      </div>
      {status !== 'revoked' && (
        <div className="flex flex-wrap gap-3">
          {status === 'active' && <Button onClick={() => openDialog('suspend')}>Suspend …</Button>}
          {status === 'suspended' && statusSetBy === 'owner' && (
            <Button variant="primary" onClick={() => openDialog('reactivate')}>
              Reactivate …
            </Button>
          )}
          <Button variant="danger" onClick={() => openDialog('revoke')}>
            Revoke …
          </Button>
        </div>
      )}
      <StatusDialog
        did={did}
        agent={agent}
        change={change}
        open={open}
        onClose={() => setOpen(false)}
        // The pressed button no longer exists after the change, so the focus moves to the status text.
        focusAfter={() =>
          statusText.current?.dataset.status === statusBefore.current || statusText.current
        }
      />
    </Section>
  )
}

function StatusText({ agent }: { readonly agent: OwnerAgent }): ReactNode {
  const { name } = useService()
  const { status, statusSetBy, statusReason, statusChangedAt } = agent
  const changedBy = {
    owner: 'you',
    operator: `the operator of ${name}`,
    agent: 'the agent itself',
    service: `${name}, because another owner reported its key`,
  }[statusSetBy]
  const since = (
    <>
      {' '}
      by {changedBy} on <DateTime at={statusChangedAt} as="minute" />.
      {statusReason && ` Reason: ${reasonText(statusReason)}.`}
    </>
  )

  if (status === 'active') {
    return (
      <p>
        The certificate is valid. Suspend it while you are not sure of the agent; revoke it when its
        key may be in other hands, or when it is no longer used.
      </p>
    )
  }
  if (status === 'suspended') {
    return (
      <p>
        Suspended{since} Nobody is told that this agent is verified until that is lifted.
        {statusSetBy === 'service' &&
          ' It cannot be reactivated with this key. You can still revoke the agent.'}
        {statusSetBy === 'operator' &&
          ` You cannot lift it here: only the operator of ${name} can. You can still revoke the agent.`}
      </p>
    )
  }
  return (
    <p>
      Revoked{since} This is for good.{' '}
      {statusReason === KEY_COMPROMISED ? (
        'Nobody can claim its key again. '
      ) : (
        <>
          The same key and label can be claimed once more, which makes another certificate with
          another DID:{' '}
        </>
      )}
      <Link to="/claim" className="text-accent underline">
        {statusReason === KEY_COMPROMISED ? 'Claim an agent with a new key' : 'claim it again'}
      </Link>
      .
    </p>
  )
}
