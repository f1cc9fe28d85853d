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
    <Clause id="owner" title="Owner">
      {owner === null ? (
        <p>The owner has deleted their account, which revoked all their agents.</p>
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
        <p>No current identity verification. The name above is not verified.</p>
      ) : (
        <dl className="grid gap-x-8 gap-y-4 sm:grid-cols-2">
          <KeyValue name="Strongest identity verification">
            {verification.label} <span className="text-soft">(counts for the grade)</span>
          </KeyValue>
          <KeyValue name="Assurance level">
            {agent.developmentOnly
              ? 'None: development only'
              : capitalised(ASSURANCE_WORDS[verification.assurance])}
          </KeyValue>
          <KeyValue name="Verified on">
            <Day at={verification.verifiedAt} />
          </KeyValue>
          <KeyValue name="Valid until">
            {verification.expiresAt === null ? (
              'Does not expire'
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
          The grade of a {agent.status} certificate is always E. The evidence is shown for
          reference:
        </p>
      )}
      <ol className="divide-y divide-line rounded-lg border border-line">
        <Question name="Owner verification" points={grade.points.identity}>
          {verification === null ? (
            'The owner’s identity is not verified.'
          ) : (
            <>
              {verificationWords(verification, agent.developmentOnly === true)}, verified on{' '}
              <Day at={verification.verifiedAt} />.
            </>
          )}
        </Question>
        <Question name="Reachability" points={grade.points.reach}>
          {channel === null ? (
            'No verified channel.'
          ) : (
            <>
              {channel.label}: {channel.handleOrDomain}, last checked on{' '}
              <Day at={channel.checkedAt} />.
            </>
          )}
        </Question>
      </ol>
      {grade.next !== null && <p>To raise the grade: {grade.next.step}</p>}
      <p className="text-sm/6 text-soft">
        Each of the two scores has up to two points: four points are an A, none an E. You can
        recompute the grade from this evidence (grade policy {grade.policyVersion}).
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
    <Clause id="channels" title="Channels">
      {channels.length === 0 ? (
        <p>
          This agent has no verified channel. If somebody writes to you in its name from a chat
          account or a domain, that account or domain is not verified here.
        </p>
      ) : (
        <>
          <ul className="divide-y divide-line rounded-lg border border-line">
            {channels.map((each) => (
              <Channel key={`${each.label} ${each.handleOrDomain}`} channel={each} />
            ))}
          </ul>
          <p className="text-sm/6 text-soft">
            Each channel is checked regularly. A channel that can no longer be verified is removed.
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

/** The label of a provider may already say its assurance level; development providers have none. */
function verificationWords(
  { label, assurance }: NonNullable<Certificate['verification']>,
  isDevelopment: boolean,
): string {
  if (isDevelopment) return `${label} (development only)`
  const level = `${assurance} assurance`
  return label.includes(level) ? label : `${label}, ${level}`
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
