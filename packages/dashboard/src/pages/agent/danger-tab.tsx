import { OWNER_LOST } from '@countersign/protocol'
import { StatusMark } from '@countersign/ui'
import { Link } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { useService } from '../../agents/use-service.ts'
import { useMay } from '../../api/use-may.ts'
import { Button, buttonClass } from '../../components/button.tsx'
import { Section } from '../../components/page.tsx'
import { offeredAgent } from '../transfers/offered-agent.ts'
import { useAgent } from './agent-tabs.ts'
import { type StatusChange, StatusDialog } from './status-dialog.tsx'
import { StatusText } from './status-text.tsx'

/** Suspends, reactivates and revokes the agent. */
export function DangerTab() {
  const { did, agent } = useAgent()
  const service = useService()
  const may = useMay()
  const [change, setChange] = useState<StatusChange>('suspend')
  const [open, setOpen] = useState(false)
  const statusText = useRef<HTMLDivElement>(null)
  const statusBefore = useRef<string>(agent.status)
  const openDialog = (nextChange: StatusChange) => {
    statusBefore.current = agent.status
    setChange(nextChange)
    setOpen(true)
  }
  const { status, statusSetBy, statusReason, enrolment } = agent
  const mayEnd = statusSetBy === 'owner' || statusReason === OWNER_LOST

  return (
    <div className="flex max-w-3xl flex-col gap-8">
      <Section title="Status" actions={<StatusMark status={status} />}>
        <div
          ref={statusText}
          tabIndex={-1}
          data-status={status}
          className="max-w-2xl text-pretty outline-hidden"
        >
          <StatusText agent={agent} />
        </div>
        {status === 'suspended' && mayEnd && (
          <Button variant="primary" className="self-start" onClick={() => openDialog('reactivate')}>
            Reactivate …
          </Button>
        )}
      </Section>
      {status === 'active' && (
        <Section
          title="Suspend the agent"
          lead="Suspend it while you investigate. You can reactivate it at any time."
        >
          <Button className="self-start" onClick={() => openDialog('suspend')}>
            Suspend …
          </Button>
        </Section>
      )}
      {status !== 'revoked' && may('admin') && (
        <Section
          title="Transfer the agent"
          lead={
            enrolment === null
              ? 'Give it to another person or organisation. It keeps its DID and its key.'
              : 'A workload has enrolled this agent, so its owner cannot change. The new owner creates an enrolment rule, and the workload enrols by it.'
          }
        >
          {enrolment === null && (
            <Link
              to="/transfers/new"
              state={{ offer: [offeredAgent(service, agent)] }}
              className={`self-start ${buttonClass()}`}
            >
              Transfer …
            </Link>
          )}
        </Section>
      )}
      {status !== 'revoked' && (
        <Section
          title="Revoke the agent"
          lead={
            <>
              Revoke it if you no longer use it. Revocation is permanent.{' '}
              {enrolment === null ? (
                <>
                  If its key was lost or stolen, you can{' '}
                  <Link to="/agents/$did/keys" params={{ did }} className="text-accent underline">
                    recover the key
                  </Link>{' '}
                  instead.
                </>
              ) : (
                <>
                  Its workload can enrol again with a new DID. To stop that, pause{' '}
                  <Link
                    to="/enrolment/$rule"
                    params={{ rule: enrolment.rule.id }}
                    className="wrap-anywhere text-accent underline"
                  >
                    the rule {enrolment.rule.name}
                  </Link>
                  .
                </>
              )}
            </>
          }
        >
          <Button variant="warning" className="self-start" onClick={() => openDialog('revoke')}>
            Revoke …
          </Button>
        </Section>
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
    </div>
  )
}
