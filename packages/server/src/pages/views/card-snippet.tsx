import type { AgentStatus, Card, CompactCard } from '@countersign/protocol'
import { Day, STATUS_WORDS } from '@countersign/ui'
import type { ReactNode } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import type { PublicChannel } from '../../agents/public-channel.ts'
import { CARD_VERDICTS, DEVELOPMENT_ONLY, VERDICTS } from '../../agents/wording.ts'
import type { PageContext } from './page-context.ts'

/*
 * Cards as HTML fragments for other sites. They have no styles of their own: a strict Content-Security-Policy of the site
 * would block them. Classes and data attributes let the site style them (docs/cards.md). All URLs are absolute.
 */

/** The full card as HTML. */
export function cardSnippet(
  context: PageContext,
  card: Card,
  channels: readonly PublicChannel[],
): string {
  const { status, grade, owner, verification, description, username } = card
  return renderToStaticMarkup(
    <Snippet context={context} kind="full" data-status={status} data-grade={grade}>
      <p>
        <img
          src={card.avatarUrl}
          alt=""
          width="64"
          height="64"
          loading="lazy"
          referrerPolicy="no-referrer"
        />
      </p>
      <Name card={card}>{username !== null && <> @{username}</>}</Name>
      <Verdict status={status} />
      <DevelopmentOnly card={card} />
      {description !== '' && (
        <p>
          <bdi>{description}</bdi>
        </p>
      )}
      <dl>
        <Entry name="Grade">{grade}</Entry>
        <Entry name={card.ownerKind === 'organisation' ? 'Organisation' : 'Owner'}>
          {owner === null ? 'None (account deleted)' : <Owner {...owner} />}
        </Entry>
        <OwnerNameEntries ownerName={card.ownerName} />
        <Entry name="Owner’s identity">
          {verification === null ? (
            'Not verified'
          ) : (
            <>
              Verified by {verification.label}, <Day at={verification.verifiedAt} />
            </>
          )}
        </Entry>
        {channels.map((each) => (
          <Entry key={`${each.label} ${each.handleOrDomain}`} name={each.label}>
            <Place channel={each} />
          </Entry>
        ))}
        <Entry name="DID">
          <code>{card[context.site.naming.didField]}</code>
        </Entry>
      </dl>
      <CertificateLink context={context} card={card} />
    </Snippet>,
  )
}

/** The compact card as HTML. */
export function compactCardSnippet(context: PageContext, card: CompactCard): string {
  return renderToStaticMarkup(
    <Snippet context={context} kind="compact" data-verification={card.verificationStatus}>
      <Name card={card}>
        {' '}
        <bdi>{card.chatHandle}</bdi>
      </Name>
      <p>{CARD_VERDICTS[card.verificationStatus]}</p>
      <DevelopmentOnly card={card} />
      <p>
        Owner: <Owner {...card.owner} />
      </p>
      <CertificateLink context={context} card={card} />
    </Snippet>,
  )
}

interface SnippetProps {
  readonly context: PageContext
  readonly kind: 'full' | 'compact'
  readonly 'data-status'?: AgentStatus
  readonly 'data-grade'?: string
  readonly 'data-verification'?: string
  readonly children: ReactNode
}

function Snippet({ context, kind, children, ...data }: SnippetProps) {
  const { shortName } = context.site.naming
  return (
    <article lang="en" className={`${shortName}-card ${shortName}-card-${kind}`} {...data}>
      {children}
    </article>
  )
}

interface CardProps {
  readonly card: Pick<Card | CompactCard, 'displayName' | 'certificateUrl'>
}

function Name({ card, children }: CardProps & { readonly children: ReactNode }) {
  return (
    <p>
      <strong>
        <bdi>{card.displayName}</bdi>
      </strong>
      {children}
    </p>
  )
}

function Verdict({ status }: { readonly status: AgentStatus }) {
  return (
    <p>
      <strong>{STATUS_WORDS[status]}.</strong> {VERDICTS[status]}
    </p>
  )
}

function Entry({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  )
}

function Owner({ displayName, username }: CompactCard['owner']) {
  return (
    <>
      <bdi>{displayName}</bdi>
      {username !== '' && <> @{username}</>} (self-declared name)
    </>
  )
}

function OwnerNameEntries({ ownerName }: { readonly ownerName: Card['ownerName'] }) {
  const { changedAt = null, verified = null } = ownerName ?? {}
  return (
    <>
      {changedAt !== null && (
        <Entry name="Name changed">
          <Day at={changedAt} />
        </Entry>
      )}
      {verified !== null && (
        <Entry name="Verified name">
          <bdi>{verified.name}</bdi>, verified by {verified.label}, <Day at={verified.verifiedAt} />
        </Entry>
      )}
    </>
  )
}

function DevelopmentOnly({ card }: { readonly card: Pick<Card, 'developmentOnly'> }) {
  if (card.developmentOnly !== true) return null
  return (
    <p>
      <strong>{DEVELOPMENT_ONLY}</strong>
    </p>
  )
}

function Place({ channel }: { readonly channel: PublicChannel }) {
  const handle = <bdi>{channel.handleOrDomain}</bdi>
  if (channel.link === null) return handle
  return (
    <a href={channel.link} rel="nofollow noopener">
      {handle}
    </a>
  )
}

function CertificateLink({ context, card }: CardProps & { readonly context: PageContext }) {
  return (
    <p>
      <a href={card.certificateUrl}>Certificate by {context.serviceName}</a>
    </p>
  )
}
