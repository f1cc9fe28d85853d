import type { Points } from '@countersign/protocol'
import { Day, KeyValue } from '@countersign/ui'
import type { ReactNode } from 'react'
import { ASSURANCE_WORDS, TIER_WORDS } from '../../agents/wording.ts'
import type { Certificate, CertifiedChannel } from '../certificate.ts'
import { Quoted } from './quoted.tsx'
import { Clause } from './sheet.tsx'

export interface EvidenceProps {
  readonly certificate: Certificate
}

/** The owner and their identity verification. */
export function OwnerClause({ certificate: { agent, verification, verifiedName } }: EvidenceProps) {
  const { owner, ownerName, ownerKind, ownerChangedAt } = agent
  return (
    <Clause id="owner" title="Owner">
      {owner === null && (
        <p>The owner has deleted their account, which revoked all their agents.</p>
      )}
      <dl className="grid grid-cols-[repeat(auto-fit,minmax(min(100%,12rem),1fr))] gap-x-6 gap-y-3">
        {verifiedName !== null && (
          <KeyValue name={ownerKind === 'organisation' ? 'Organisation' : 'Verified name'}>
            <bdi>{verifiedName.name}</bdi>
            <span className="block text-sm text-soft">
              Verified by {verifiedName.label} on <Day at={verifiedName.verifiedAt} />
            </span>
          </KeyValue>
        )}
        {verifiedName === null && ownerName?.verified && (
          <KeyValue name="Name entered in the test">
            <Quoted>{ownerName.verified.name}</Quoted>
            <span className="block text-sm text-soft">
              {ownerName.verified.label}: nobody checked it
            </span>
          </KeyValue>
        )}
        {owner !== null && (
          <KeyValue name="Self-declared name">
            <Quoted>{owner.displayName}</Quoted>{' '}
            <span className="text-soft">@{owner.username}</span>
            {ownerName?.changedAt && (
              <span className="block text-sm text-warn">
                Changed on <Day at={ownerName.changedAt} />
              </span>
            )}
          </KeyValue>
        )}
        {owner !== null && ownerChangedAt !== undefined && (
          <KeyValue name="Owner changed on">
            <Day at={ownerChangedAt} />
            {agent.keyChangedAt < ownerChangedAt && (
              <span className="block text-sm text-warn">The key is older than this owner.</span>
            )}
          </KeyValue>
        )}
        {verification !== null && (
          <KeyValue name="Identity verification">
            {verification.label}
            <span className="block text-sm text-soft">
              {agent.developmentOnly
                ? 'Development only. '
                : `${capitalised(ASSURANCE_WORDS[verification.assurance])}. `}
              Verified on <Day at={verification.verifiedAt} />,{' '}
              {verification.expiresAt === null ? (
                'does not expire'
              ) : (
                <>
                  valid until <Day at={verification.expiresAt} />
                </>
              )}
            </span>
          </KeyValue>
        )}
      </dl>
      {verification === null && owner !== null && (
        <p>No current identity verification. The name above is not verified.</p>
      )}
    </Clause>
  )
}

/** The grade: points for each of its two criteria, and the next step up. */
export function GradeClause({
  certificate: { agent, grade, verification, strongestChannel: channel },
}: EvidenceProps) {
  return (
    <Clause
      id="grade"
      title={`${agent.developmentOnly ? 'Why the grade of this test' : 'Why the grade'} is ${grade.grade}`}
    >
      {agent.status !== 'active' && <p>The grade of a {agent.status} certificate is always E.</p>}
      <ol className="space-y-3">
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
        Four points are an A, none an E (grade policy {grade.policyVersion}).
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
    <li className="wrap-anywhere">
      <p className="flex flex-wrap items-baseline justify-between gap-x-6 font-medium">
        {name}
        <span className="flex items-center gap-2 whitespace-nowrap">
          <PointDots points={points} />
          {points} of 2
        </span>
      </p>
      <p className="text-soft">{children}</p>
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
        <ul className="space-y-3">
          {channels.map((each) => (
            <Channel key={`${each.label} ${each.handleOrDomain}`} channel={each} />
          ))}
        </ul>
      )}
    </Clause>
  )
}

function Channel({ channel }: { readonly channel: CertifiedChannel }) {
  const { label, proves, handleOrDomain, link, tier, checkedAt } = channel
  return (
    <li>
      <p className="font-medium wrap-anywhere">
        {label}:{' '}
        {link === null ? (
          <bdi>{handleOrDomain}</bdi>
        ) : (
          <a
            href={link}
            rel="nofollow noopener"
            className="text-accent underline underline-offset-4 hover:text-accent-strong"
          >
            <bdi>{handleOrDomain}</bdi>
          </a>
        )}
      </p>
      <p className="text-sm/6 text-soft">
        {proves} {TIER_WORDS[tier]}. Last checked on <Day at={checkedAt} />
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
