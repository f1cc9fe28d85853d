import type { Points } from '@countersign/protocol'
import { Day, KeyValue } from '@countersign/ui'
import type { ReactNode } from 'react'
import { ASSURANCE_WORDS, TIER_WORDS } from '../../agents/wording.ts'
import type { Certificate, CertifiedChannel } from '../certificate.ts'
import { Clause } from './sheet.tsx'

export interface EvidenceProps {
  readonly certificate: Certificate
}

/** The owner and their identity verification. */
export function OwnerClause({ certificate: { agent, verification } }: EvidenceProps) {
  const { owner, ownerName } = agent
  return (
    <Clause
      id="owner"
      title={agent.status === 'revoked' ? 'Who stood behind it' : 'Who stands behind it'}
    >
      {owner === null ? (
        <p>
          Nobody any more: the owner has deleted their account, which revoked every agent of theirs.
        </p>
      ) : (
        <dl className="grid gap-x-8 gap-y-4 sm:grid-cols-2">
          {ownerName?.verified && (
            <KeyValue name="Verified name">
              {ownerName.verified.name}
              <span className="block text-sm text-soft">
                Verified by {ownerName.verified.label} on <Day at={ownerName.verified.verifiedAt} />
              </span>
            </KeyValue>
          )}
          <KeyValue name="Self-declared name">
            {owner.displayName} <span className="text-soft">@{owner.username}</span>
            {ownerName?.changedAt && (
              <span className="block text-sm text-warn">
                Changed on <Day at={ownerName.changedAt} />
              </span>
            )}
          </KeyValue>
        </dl>
      )}
      {verification === null ? (
        <p>No current identity verification. Nobody has verified the name above.</p>
      ) : (
        <dl className="grid gap-x-8 gap-y-4 sm:grid-cols-2">
          <KeyValue name="Identity verified by">{verification.label}</KeyValue>
          <KeyValue name="Assurance">
            {agent.developmentOnly
              ? 'Development only: none'
              : capitalised(ASSURANCE_WORDS[verification.assurance])}
          </KeyValue>
          <KeyValue name="Verified on">
            <Day at={verification.verifiedAt} />
          </KeyValue>
          <KeyValue name="In force until">
            {verification.expiresAt === null ? (
              'No end is set'
            ) : (
              <Day at={verification.expiresAt} />
            )}
          </KeyValue>
        </dl>
      )}
    </Clause>
  )
}

/** The grade: points for each of its two criteria, and the next step up. */
export function GradeClause({
  certificate: { agent, grade, verification, strongestChannel: channel },
}: EvidenceProps) {
  return (
    <Clause id="grade" title={`Why the grade is ${grade.grade}`}>
      {agent.status !== 'active' && (
        <p>
          Because a certificate that is {agent.status} is always an E, whatever else is known. This
          is what is known:
        </p>
      )}
      <ol className="divide-y divide-line rounded-lg border border-line">
        <Question name="Who stands behind it?" points={grade.points.identity}>
          {verification === null ? (
            'Nobody has verified the owner’s identity.'
          ) : (
            <>
              {verification.label}, {verification.assurance} assurance
              {agent.developmentOnly && ' (development only)'}, <Day at={verification.verifiedAt} />
              .
            </>
          )}
        </Question>
        <Question name="Where can it be reached?" points={grade.points.reach}>
          {channel === null ? (
            'At no verified channel.'
          ) : (
            <>
              {channel.label}: {channel.handleOrDomain}, last checked on{' '}
              <Day at={channel.checkedAt} />.
            </>
          )}
        </Question>
      </ol>
      {grade.next !== null && <p>What would raise it: {grade.next.step}</p>}
      <p className="text-sm/6 text-soft">
        Each question is worth up to two points; four make an A, none an E. Anyone can recompute the
        letter from what stands here (grade policy {grade.policyVersion}).
      </p>
    </Clause>
  )
}

interface QuestionProps {
  readonly name: string
  readonly points: Points
  readonly children: ReactNode
}

function Question({ name, points, children }: QuestionProps) {
  return (
    <li className="flex flex-wrap items-baseline justify-between gap-x-6 gap-y-1 px-4 py-3">
      <p className="min-w-0 flex-1 basis-64 wrap-anywhere">
        <span className="block font-medium">{name}</span>
        <span className="text-soft">{children}</span>
      </p>
      <p className="flex items-center gap-2 font-medium whitespace-nowrap">
        <PointDots points={points} />
        {points} of 2
      </p>
    </li>
  )
}

function PointDots({ points }: { readonly points: Points }) {
  return (
    <svg viewBox="0 0 30 12" aria-hidden="true" className="h-3 w-7.5 text-accent">
      {[0, 1].map((each) => (
        <circle
          key={each}
          cx={6 + each * 18}
          cy="6"
          r="5"
          fill={each < points ? 'currentColor' : 'none'}
          stroke="currentColor"
          strokeWidth="1.5"
        />
      ))}
    </svg>
  )
}

/** The fresh channels. */
export function ChannelsClause({ certificate: { channels } }: EvidenceProps) {
  return (
    <Clause id="channels" title="Where it can be reached">
      {channels.length === 0 ? (
        <p>
          No channel of this agent is verified at the moment. Whoever writes to you under its name
          from a chat account or a domain has not been checked here.
        </p>
      ) : (
        <>
          <ul className="divide-y divide-line rounded-lg border border-line">
            {channels.map((each) => (
              <Channel key={`${each.label} ${each.handleOrDomain}`} channel={each} />
            ))}
          </ul>
          <p className="text-sm/6 text-soft">
            Each is checked again and again. One that can no longer be confirmed is not shown here.
          </p>
        </>
      )}
    </Clause>
  )
}

function Channel({ channel }: { readonly channel: CertifiedChannel }) {
  const { label, proves, handleOrDomain, link, tier, checkedAt } = channel
  return (
    <li className="space-y-0.5 px-4 py-3">
      <p className="font-medium wrap-anywhere">
        {label}:{' '}
        {link === null ? (
          handleOrDomain
        ) : (
          <a
            href={link}
            rel="nofollow noopener"
            className="text-accent underline underline-offset-4 hover:text-accent-strong"
          >
            {handleOrDomain}
          </a>
        )}
      </p>
      {proves !== null && <p>{proves}</p>}
      <p className="text-sm/6 text-soft">
        {TIER_WORDS[tier]}. Last checked on <Day at={checkedAt} />
      </p>
    </li>
  )
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
