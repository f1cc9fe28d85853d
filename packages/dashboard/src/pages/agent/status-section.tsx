import type { OwnerAgent } from '@countersign/protocol'
import { StatusMark } from '@countersign/ui'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useRef, useState } from 'react'
import { reasonInWords } from '../../agents/reasons.ts'
import { useService } from '../../agents/use-service.ts'
import { Button } from '../../parts/button.tsx'
import { Moment } from '../../parts/moment.tsx'
import { Section } from '../../parts/page.tsx'
import { type StatusChange, StatusDialog } from './status-dialog.tsx'

interface StatusSectionProps {
  readonly did: string
  readonly agent: OwnerAgent
}

/** How the certificate stands, and taking it back. */
export function StatusSection({ did, agent }: StatusSectionProps) {
  const [change, setChange] = useState<StatusChange>('suspend')
  const [open, setOpen] = useState(false)
  const standing = useRef<HTMLDivElement>(null)
  const asked = useRef<string>(agent.status)
  const ask = (what: StatusChange) => {
    asked.current = agent.status
    setChange(what)
    setOpen(true)
  }
  const { status, statusSetBy } = agent

  return (
    <Section title="Status" actions={<StatusMark status={status} />}>
      <div
        ref={standing}
        tabIndex={-1}
        data-status={status}
        className="max-w-2xl text-pretty outline-hidden"
      >
        <Standing agent={agent} />
      </div>
      {status !== 'revoked' && (
        <div className="flex flex-wrap gap-3">
          {status === 'active' && <Button onClick={() => ask('suspend')}>Suspend …</Button>}
          {status === 'suspended' && statusSetBy === 'owner' && (
            <Button variant="primary" onClick={() => ask('reactivate')}>
              Reactivate …
            </Button>
          )}
          <Button variant="danger" onClick={() => ask('revoke')}>
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
        // The button that was pressed does something else by now, or is gone: to what it has done.
        focusAfter={() => standing.current?.dataset.status === asked.current || standing.current}
      />
    </Section>
  )
}

function Standing({ agent }: { readonly agent: OwnerAgent }): ReactNode {
  const { name } = useService()
  const { status, statusSetBy, statusReason, statusChangedAt } = agent
  const who = statusSetBy === 'owner' ? 'you' : `whoever runs ${name}`
  const since = (
    <>
      {' '}
      by {who} on <Moment at={statusChangedAt} as="minute" />.
      {statusReason && ` Reason: ${reasonInWords(statusReason)}.`}
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
        {statusSetBy === 'operator' &&
          ` You cannot lift it here: only whoever runs ${name} can. Ask them. You can still revoke the agent.`}
      </p>
    )
  }
  return (
    <p>
      Revoked{since} This is for good. The same key and label can be claimed once more, which makes
      another certificate with another DID:{' '}
      <Link to="/claim" className="text-accent underline">
        claim it again
      </Link>
      .
    </p>
  )
}
