import type { OwnerAgent } from '@countersign/protocol'
import type { ReactNode } from 'react'
import { CopyField } from '../../components/copy-field.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { Section } from '../../components/page.tsx'

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
