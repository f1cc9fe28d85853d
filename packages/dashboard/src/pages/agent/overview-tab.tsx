import type { OwnerAgent } from '@countersign/protocol'
import { StatusMark } from '@countersign/ui'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { organisation } from '../../api/acting-for.ts'
import { useMay } from '../../api/use-may.ts'
import { buttonClass } from '../../components/button.tsx'
import { CopyField } from '../../components/copy-field.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { Section } from '../../components/page.tsx'
import { useAgent } from './agent-tabs.ts'
import { ApprovalsSection } from './approvals-section.tsx'
import { BesideCard } from './beside-card.tsx'
import { GradeSection } from './grade-section.tsx'
import { ResponsibleSection } from './responsible-section.tsx'
import { StatusText } from './status-text.tsx'

export function OverviewTab() {
  const { did, agent } = useAgent()
  const may = useMay()
  return (
    <BesideCard title="Public card" card={agent}>
      <Section title="Status" actions={<StatusMark status={agent.status} />}>
        <div className="max-w-2xl text-pretty">
          <StatusText agent={agent} />
        </div>
        {agent.status !== 'revoked' && may('responder') && (
          <Link
            to="/agents/$did/danger"
            params={{ did }}
            className={`self-start ${buttonClass('secondary', 'small')}`}
          >
            Change status
          </Link>
        )}
      </Section>
      {agent.enrolment !== null && <EnrolmentSection agent={agent} enrolment={agent.enrolment} />}
      <GradeSection did={did} agent={agent} />
      {organisation !== null && <ResponsibleSection did={did} agent={agent} />}
      <ApprovalsSection did={did} agent={agent} />
      <Identifiers did={did} agent={agent} />
    </BesideCard>
  )
}

interface EnrolmentSectionProps {
  readonly agent: OwnerAgent
  readonly enrolment: NonNullable<OwnerAgent['enrolment']>
}

/** By which rule a workload enrolled the agent, and until when. */
function EnrolmentSection({ agent: { status }, enrolment }: EnrolmentSectionProps) {
  const { rule, claims, seenAt, endsAt } = enrolment
  return (
    <Section title="Enrolment">
      <p className="wrap-anywhere max-w-2xl text-pretty">
        Enrolled by the rule{' '}
        <Link to="/enrolment/$rule" params={{ rule: rule.id }} className="text-accent underline">
          {rule.name}
        </Link>
        . Last seen <DateTime at={seenAt} as="ago" />.{' '}
        {status === 'revoked' ? (
          <>
            Ended on <DateTime at={endsAt} as="minute" />.
          </>
        ) : (
          <>
            Ends on <DateTime at={endsAt} as="minute" />, unless renewed.
          </>
        )}
      </p>
      <ul aria-label="Claims of its token" className="flex flex-col gap-1">
        {Object.entries(claims).map(([name, value]) => (
          <li key={name} className="wrap-anywhere font-mono text-sm">
            {name} = {String(value)}
          </li>
        ))}
      </ul>
    </Section>
  )
}

interface IdentifiersProps {
  readonly did: string
  readonly agent: OwnerAgent
}

export function Identifiers({ did, agent }: IdentifiersProps) {
  return (
    <Section title="Identifiers">
      <CopyField label="DID" value={did} />
      <CopyField label="Key thumbprint" value={agent.keyThumbprint} />
      <dl className="grid gap-x-8 gap-y-5 sm:grid-cols-2">
        <Detail name="Label" remark="Private. Set when the agent was claimed.">
          {agent.agentId}
        </Detail>
        <Detail name="Claimed" remark="The certificate was issued.">
          <DateTime at={agent.claimedAt} as="minute" />
        </Detail>
      </dl>
    </Section>
  )
}

interface DetailProps {
  readonly name: string
  readonly remark: string
  readonly children: ReactNode
}

function Detail({ name, remark, children }: DetailProps) {
  return (
    <div className="min-w-0">
      <dt className="font-medium">{name}</dt>
      <dd className="mt-1 wrap-break-word">{children}</dd>
      <dd className="mt-1 text-soft text-sm">{remark}</dd>
    </div>
  )
}
