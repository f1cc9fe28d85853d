import type { OwnerAgent, OwnerChannel } from '@countersign/protocol'
import { type ReactNode, useState } from 'react'
import { useKind } from '../../channels/queries.ts'
import { useStanding } from '../../channels/use-standing.ts'
import { buttonClass } from '../../parts/button.tsx'
import { Page } from '../../parts/page.tsx'
import { Sheet } from '../../parts/sheet.tsx'
import { ChecksClause } from './checks-clause.tsx'
import { JustProven } from './just-proven.tsx'
import { ProofClause } from './proof-clause.tsx'
import { RemovalClause } from './removal-clause.tsx'
import { StandingPanel } from './standing-panel.tsx'
import { TokenClause } from './token-clause.tsx'

interface ChannelSheetProps {
  readonly did: string
  readonly agent: OwnerAgent
  readonly channel: OwnerChannel
  readonly above: ReactNode
}

/** The page of a channel that is there. What is to be done next comes first. */
export function ChannelSheet({ did, agent, channel, above }: ChannelSheetProps) {
  const { handleOrDomain, label, link, verifiedAt, proof } = channel
  const kind = useKind(channel.kind)
  const standing = useStanding(did, agent)(channel)
  const byAgent = kind?.provenBy === 'agent'
  const revoked = agent.status === 'revoked'
  // Whoever sees it happen is told so, however it came about.
  const [verifiedBefore] = useState(verifiedAt)
  const [gradeBefore] = useState(agent.grade)
  const [renewed, setRenewed] = useState(false)
  const justProven = verifiedAt !== null && verifiedAt !== verifiedBefore && proof === null
  const token = !revoked && (
    <TokenClause
      did={did}
      channel={channel}
      standing={standing}
      byAgent={byAgent}
      onRenewed={() => setRenewed(true)}
    />
  )

  return (
    <Page
      title={handleOrDomain}
      above={above}
      lead={kind ? `${label}. ${kind.proves}` : label}
      actions={
        link !== null && (
          <a href={link} target="_blank" rel="noopener noreferrer" className={buttonClass()}>
            Open it
          </a>
        )
      }
    >
      <div role="status" className="empty:hidden">
        {justProven && (
          <JustProven did={did} agent={agent} gradeBefore={gradeBefore} byAgent={byAgent} />
        )}
      </div>
      <StandingPanel channel={channel} standing={standing} byAgent={byAgent} />
      <Sheet>
        {proof === null && standing !== 'verified' && token}
        {proof !== null && !revoked && (
          <ProofClause
            key={proof.expiresAt}
            proof={proof}
            state={channel.state}
            byAgent={byAgent}
            takesFocus={renewed}
          />
        )}
        <ChecksClause
          did={did}
          channel={channel}
          byAgent={byAgent}
          canCheck={kind?.provenBy === 'service' && !revoked}
        />
        {(proof !== null || standing === 'verified') && token}
        <RemovalClause did={did} agent={agent} channel={channel} byAgent={byAgent} />
      </Sheet>
    </Page>
  )
}
