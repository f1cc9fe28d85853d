import type { OwnerAgent, OwnerChannel } from '@countersign/protocol'
import { type ReactNode, useState } from 'react'
import { useChannelStatus } from '../../channels/channel-status.ts'
import { useKind } from '../../channels/queries.ts'
import { buttonClass } from '../../components/button.tsx'
import { Page } from '../../components/page.tsx'
import { Sheet } from '../../components/sheet.tsx'
import { ChecksSection } from './checks-section.tsx'
import { CountersignSection } from './countersign-section.tsx'
import { ProofSection } from './proof-section.tsx'
import { RemovalSection } from './removal-section.tsx'
import { RenewalSection } from './renewal-section.tsx'
import { StatusPanel } from './status-panel.tsx'
import { VerifiedNotice } from './verified-notice.tsx'

interface ChannelDetailsProps {
  readonly did: string
  readonly agent: OwnerAgent
  readonly channel: OwnerChannel
  readonly above: ReactNode
}

/** The page of a channel, with the next action first. */
export function ChannelDetails({ did, agent, channel, above }: ChannelDetailsProps) {
  const { handleOrDomain, label, link, verifiedAt, proof } = channel
  const kind = useKind(channel.kind)
  const channelStatus = useChannelStatus(did, agent)(channel)
  const byAgent = kind?.provenBy === 'agent'
  const revoked = agent.status === 'revoked'
  // Detects a verification that happens while the page is open, whatever caused it.
  const [verifiedBefore] = useState(verifiedAt)
  const [gradeBefore] = useState(agent.grade)
  const [renewed, setRenewed] = useState(false)
  const justVerified = verifiedAt !== null && verifiedAt !== verifiedBefore && proof === null
  const token = !revoked && (
    <RenewalSection
      did={did}
      channel={channel}
      channelStatus={channelStatus}
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
            Open
          </a>
        )
      }
    >
      <div role="status" className="empty:hidden">
        {justVerified && (
          <VerifiedNotice did={did} agent={agent} gradeBefore={gradeBefore} byAgent={byAgent} />
        )}
      </div>
      <StatusPanel channel={channel} channelStatus={channelStatus} byAgent={byAgent} />
      <Sheet>
        {proof === null && channelStatus !== 'verified' && token}
        {proof !== null && !revoked && (
          <ProofSection
            key={proof.expiresAt}
            proof={proof}
            state={channel.state}
            byAgent={byAgent}
            takesFocus={renewed}
          />
        )}
        <ChecksSection
          did={did}
          channel={channel}
          byAgent={byAgent}
          canCheck={kind?.provenBy === 'service' && !revoked}
        />
        {channel.kind === 'a2a' && channel.state === 'verified' && agent.status === 'active' && (
          <CountersignSection did={did} channel={channel} />
        )}
        {(proof !== null || channelStatus === 'verified') && token}
        <RemovalSection did={did} agent={agent} channel={channel} byAgent={byAgent} />
      </Sheet>
    </Page>
  )
}
