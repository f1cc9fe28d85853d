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
        <Fact name="Your label" remark="Only you see it. It was chosen at the claim, and stays.">
          {agent.agentId}
        </Fact>
        <Fact name="Claimed" remark="When the certificate was issued.">
          <DateTime at={agent.claimedAt} as="minute" />
        </Fact>
      </dl>
    </Section>
  )
}

interface FactProps {
  readonly name: string
  readonly remark: string
  readonly children: ReactNode
}

function Fact({ name, remark, children }: FactProps) {
  return (
    <div className="min-w-0">
      <dt className="font-medium">{name}</dt>
      <dd className="mt-1 wrap-anywhere">{children}</dd>
      <dd className="mt-1 text-soft text-sm">{remark}</dd>
    </div>
  )
}
