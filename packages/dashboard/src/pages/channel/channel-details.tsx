import type { OwnerAgent, OwnerChannel } from '@countersign/protocol'
import { GradeMark } from '@countersign/ui'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { useMay } from '../../api/use-may.ts'
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
  const mayChange = useMay()('manager')
  // Detects a verification that happens while the page is open, whatever caused it.
  const [verifiedBefore] = useState(verifiedAt)
  const [gradeBefore] = useState(agent.grade)
  const [renewed, setRenewed] = useState(false)
  const justVerified = verifiedAt !== null && verifiedAt !== verifiedBefore && proof === null
  const token = !revoked && mayChange && (
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
        {proof !== null && !revoked && mayChange && (
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
          canCheck={kind?.provenBy === 'service' && !revoked && mayChange}
        />
        {channel.kind === 'a2a' &&
          channel.state === 'verified' &&
          agent.status === 'active' &&
          mayChange && <CountersignSection did={did} channel={channel} />}
        {(proof !== null || channelStatus === 'verified') && token}
        {mayChange && (
          <RemovalSection did={did} agent={agent} channel={channel} byAgent={byAgent} />
        )}
      </Sheet>
    </Page>
  )
}

interface VerifiedNoticeProps {
  readonly did: string
  readonly agent: OwnerAgent
  /** The grade when the page was opened. */
  readonly gradeBefore: OwnerAgent['grade']
  readonly byAgent: boolean
}

/** Tells the owner that the channel is verified, and the resulting grade. */
function VerifiedNotice({ did, agent, gradeBefore, byAgent }: VerifiedNoticeProps) {
  const { displayName, grade, status, certificateUrl } = agent
  const container = useRef<HTMLDivElement>(null)
  // The user may have scrolled down to start the check.
  useEffect(() => {
    container.current?.scrollIntoView({ block: 'nearest' })
  }, [])

  return (
    <div
      ref={container}
      className="flex scroll-mt-8 flex-wrap items-center gap-x-6 gap-y-4 rounded-2xl border-2 border-good bg-good-wash p-5 sm:p-7"
    >
      <GradeMark grade={grade} status={status} size="medium" seed={certificateUrl} />
      <div className="flex min-w-0 flex-1 basis-72 flex-col gap-1">
        <h2 className="font-semibold text-2xl tracking-tight">Channel verified</h2>
        <p className="text-pretty wrap-break-word">
          {grade === gradeBefore
            ? `The grade of ${displayName} is still ${grade}.`
            : `The grade of ${displayName} changed from ${gradeBefore} to ${grade}.`}{' '}
          {byAgent
            ? 'The agent must renew the proof before it expires.'
            : 'Leave the published text in place. It is checked every day.'}
        </p>
      </div>
      <div className="flex flex-wrap gap-3">
        <Link to="/agents/$did" params={{ did }} className={buttonClass('primary')}>
          Open the agent
        </Link>
        <a href={certificateUrl} className={buttonClass()}>
          Public certificate
        </a>
      </div>
    </div>
  )
}
