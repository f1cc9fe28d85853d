import type { AgentStatus, Card, CompactCard, Naming } from '@countersign/protocol'
import type { PublicChannel } from './public-channel.ts'
import { CARD_VERDICTS, DEVELOPMENT_ONLY, VERDICTS } from './wording.ts'

/** The full card as lines for a terminal. */
export function cardText(
  { didField }: Naming,
  card: Card,
  channels: readonly PublicChannel[],
): string {
  const { displayName, username, status, owner, verification } = card
  return textOf([
    oneSafeLine(nameText(displayName, username)),
    `${STATUSES[status]}: ${VERDICTS[status]}`,
    '',
    ...lines('Grade', [card.grade]),
    ...lines(
      card.ownerKind === 'organisation' ? 'Organisation' : 'Owner',
      owner === null ? ['none (account deleted)'] : ownerLines(owner, card.ownerName),
    ),
    ...lines('Identity', [verification === null ? NOT_VERIFIED : verificationText(verification)]),
    ...lines('Warning', card.developmentOnly === true ? [DEVELOPMENT_ONLY] : []),
    ...lines('Reached at', channels.length === 0 ? [NO_CHANNEL] : channels.map(channelText)),
    ...lines('Says', card.description === '' ? [] : [card.description]),
    ...lines('DID', [card[didField]]),
    ...lines('Claimed on', [dayOf(card.claimedAt)]),
    ...lines('Certificate', [card.certificateUrl]),
  ])
}

/** The compact card as lines for a terminal. */
export function compactCardText(card: CompactCard): string {
  const { owner, verificationStatus } = card
  return textOf([
    oneSafeLine(card.displayName),
    CARD_VERDICTS[verificationStatus],
    '',
    ...lines('Owner', ownerLines(owner, null)),
    ...lines('Warning', card.developmentOnly === true ? [DEVELOPMENT_ONLY] : []),
    ...lines('Chat', [card.chatHandle]),
    ...lines('Certificate', [card.certificateUrl]),
  ])
}

const STATUSES: Readonly<Record<AgentStatus, string>> = {
  active: 'ACTIVE',
  suspended: 'SUSPENDED',
  revoked: 'REVOKED',
}

const NOT_VERIFIED = 'identity not verified'
const NO_CHANNEL = 'no verified channel'

function ownerLines(
  { displayName, username }: CompactCard['owner'],
  ownerName: Card['ownerName'],
): string[] {
  const { changedAt = null, verified = null } = ownerName ?? {}
  return [
    `${nameText(displayName, username)}, self-declared name`,
    ...(changedAt === null ? [] : [`name changed on ${dayOf(changedAt)}`]),
    ...(verified === null
      ? []
      : [`${verified.name}, verified by ${verified.label} on ${dayOf(verified.verifiedAt)}`]),
  ]
}

function verificationText({ label, verifiedAt }: NonNullable<Card['verification']>): string {
  return `verified by ${label} on ${dayOf(verifiedAt)}`
}

function channelText({ label, handleOrDomain }: PublicChannel): string {
  return `${label}: ${handleOrDomain}`
}

function nameText(displayName: string, username: string | null): string {
  return username === null || username === '' ? displayName : `${displayName} (@${username})`
}

function dayOf(at: string): string {
  return at.slice(0, 10)
}

const WIDTH = 'Certificate'.length + 2

/** One line per value, with the name before the first one and the values aligned. */
function lines(name: string, values: readonly string[]): string[] {
  return values.map((value, i) => (i === 0 ? name : '').padEnd(WIDTH) + oneSafeLine(value))
}

function textOf(all: readonly string[]): string {
  return all.map((line) => `${line}\n`).join('')
}

/** Characters that control a terminal, change the text direction or are invisible. */
const UNSAFE = /[\p{Cc}\p{Cs}\p{Bidi_Control}\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu

/** The text on a single line, with unsafe characters replaced, so that it cannot control a terminal or forge lines. */
function oneSafeLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().replaceAll(UNSAFE, '\ufffd')
}
