import type { AgentStatus, Card } from '@countersign/protocol'
import { Day } from './date.tsx'
import { GradeMark } from './grade-mark.tsx'
import { KeyValue } from './key-value.tsx'
import { StatusMark } from './status-mark.tsx'

export interface AgentCardProps {
  readonly card: Card
  /** The picture's URL, if it differs from the card's: the preview of a new picture. */
  readonly picture?: string
}

const EDGES: Readonly<Record<AgentStatus, string>> = {
  active: 'border-line',
  suspended: 'border-warn',
  revoked: 'border-bad',
}

/** An agent's public card. */
export function AgentCard({ card, picture = card.avatarUrl }: AgentCardProps) {
  const { status, verification, owner } = card
  const isOrganisation = card.ownerKind === 'organisation'
  const address = card.certificateUrl.replace(/^https?:\/\//, '')
  return (
    <article
      className={`w-full max-w-md contain-inline-size overflow-hidden rounded-xl border bg-surface text-ink shadow-xs ${EDGES[status]}`}
    >
      <div className="flex flex-wrap items-start gap-4 p-5">
        <img
          src={picture}
          alt=""
          width="64"
          height="64"
          className={`size-16 shrink-0 rounded-xl bg-sunken object-cover ${status === 'revoked' ? 'grayscale' : ''}`}
        />
        <div className="min-w-0 flex-[1_1_5rem]">
          <p className="text-xl/7 font-semibold tracking-tight wrap-anywhere">{card.displayName}</p>
          {card.username !== null && <p className="truncate text-sm text-soft">@{card.username}</p>}
          <div className="mt-2">
            <StatusMark status={status} />
          </div>
        </div>
        <GradeMark
          grade={card.grade}
          status={status}
          developmentOnly={card.developmentOnly}
          size="medium"
          seed={card.certificateUrl}
        />
      </div>
      {card.developmentOnly && (
        <p className="mx-5 mb-5 rounded-lg bg-warn-wash px-3 py-2 text-sm font-medium text-warn">
          Development only: do not rely on it.
        </p>
      )}
      {card.description !== '' && (
        <p className="px-5 pb-5 text-base/6 whitespace-pre-line wrap-anywhere">
          {card.description}
        </p>
      )}
      {/* No container query: while the style sheet is loading, Chromium paints the content of containers without it. */}
      <dl className="grid grid-cols-[repeat(auto-fit,minmax(min(100%,10rem),1fr))] gap-4 border-t border-line px-5 py-4 text-sm">
        <KeyValue name={isOrganisation ? 'Organisation' : 'Owner'}>
          {owner === null ? (
            'None (account deleted)'
          ) : (
            <Owner owner={owner} ownerName={card.ownerName} />
          )}
        </KeyValue>
        <KeyValue name={isOrganisation ? 'Its identity' : 'Owner’s identity'}>
          {verification === null ? (
            'Not verified'
          ) : (
            <>
              {verification.label}, <Day at={verification.verifiedAt} />
            </>
          )}
        </KeyValue>
      </dl>
      <p className="truncate border-t border-line px-5 py-3 text-xs text-soft">{address}</p>
    </article>
  )
}

interface OwnerProps {
  readonly owner: NonNullable<Card['owner']>
  readonly ownerName: Card['ownerName']
}

function Owner({ owner: { displayName, username }, ownerName }: OwnerProps) {
  const { changedAt = null, verified = null } = ownerName ?? {}
  return (
    <>
      {verified !== null && (
        <span className="block">
          {verified.name}{' '}
          <span className="text-soft">
            (verified name: {verified.label}, <Day at={verified.verifiedAt} />)
          </span>
        </span>
      )}
      {displayName} <span className="text-soft">@{username} (self-declared name)</span>
      {changedAt !== null && (
        <span className="block text-warn">
          Name changed on <Day at={changedAt} />
        </span>
      )}
    </>
  )
}
