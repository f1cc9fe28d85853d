import {
  type Card,
  type CompactCard,
  type Did,
  gradeOf,
  isCurrent,
  isFresh,
  type OwnerName,
  strongestVerification,
} from '@countersign/protocol'
import {
  identityMethodOf,
  isDevelopmentProvider,
  latestVerification,
  providerLabel,
} from '../accounts/identity-of-owner.ts'
import { certificatePath, didOfAgent, type Site } from '../base/site.ts'
import { startOfDay, timestamp } from '../base/timestamp.ts'
import type { AgentRecord, AgentView, OwnerRecord } from './agent-record.ts'
import type { PublicChannel } from './public-channel.ts'

/** Renders cards as HTML. */
export interface CardRenderers {
  readonly full: (card: Card, channels: readonly PublicChannel[]) => string
  readonly compact: (card: CompactCard) => string
}

/** The full card (contract 2.4). */
export function cardOf(site: Site, { agent, owner }: AgentView, now: number): Card {
  const { profile } = agent
  const did = didOfAgent(site, agent.tail)
  const { verifications } = owner
  const grade = gradeOf({ status: agent.status, verifications, channels: profile.channels, now })
  const verification = latestVerification(owner, now)
  return {
    [site.naming.didField]: did,
    displayName: displayNameOf(agent),
    username: profile.username,
    description: profile.description ?? '',
    avatarUrl: avatarUrl(site, did, profile.avatar),
    status: agent.status,
    claimedAt: timestamp(agent.claimedAt),
    owner: owner.deleted ? null : { displayName: owner.displayName, username: owner.username },
    verification: verification && {
      provider: verification.provider,
      label: providerLabel(site, verification.provider),
      verifiedAt: timestamp(startOfDay(verification.verifiedAt)),
    },
    channels: profile.channels
      .filter((each) => isFresh(each, now))
      .map(({ kind, handleOrDomain }) => ({ kind, handleOrDomain })),
    grade: grade.grade,
    tier: grade.tier,
    gradeIsFallback: grade.gradeIsFallback,
    certificateUrl: `${site.baseUrl}${certificatePath(site, agent)}`,
    ownerName: ownerNameOf(site, owner, now),
    ...developmentMark(owner, now),
    ...(owner.isOrganisation && { ownerKind: 'organisation' }),
  }
}

/** Each version of a picture has its own URL, so that clients can cache it for long. */
function avatarUrl({ baseUrl }: Site, did: Did, avatar: string | null): string {
  const file = avatar === null ? 'avatar.svg' : `avatar.webp?v=${avatar}`
  return `${baseUrl}/api/agents/${did}/${file}`
}

/** The public name: the display name, else the username, else a name derived from the DID. */
export function displayNameOf({
  tail,
  profile,
}: {
  readonly tail: string
  readonly profile: Pick<AgentRecord['profile'], 'displayName' | 'username'>
}): string {
  return profile.displayName ?? profile.username ?? `Agent ${tail.slice(0, 6)}`
}

/** Placeholder, since the compact card requires an owner. */
const DELETED_OWNER = { displayName: 'Deleted owner', username: '' }

/** The compact card (contract 2.5). */
export function compactCardOf(site: Site, view: AgentView, now: number): CompactCard {
  const { agent, owner } = view
  const { displayName, username } = owner
  return {
    displayName: displayNameOf(agent),
    owner: owner.deleted ? DELETED_OWNER : { displayName, username },
    verificationStatus: verificationStatus(view, now),
    chatHandle: `@${chatName(site, agent, now).replace(/^@/, '')}`,
    certificateUrl: `${site.baseUrl}${certificatePath(site, agent)}`,
    ...developmentMark(owner, now),
  }
}

function verificationStatus(
  { agent, owner }: AgentView,
  now: number,
): CompactCard['verificationStatus'] {
  if (agent.status !== 'active') return 'unverified'
  return identityMethodOf(owner, now) === null ? 'claim' : 'verified'
}

function chatName({ channelKinds }: Site, { tail, profile }: AgentRecord, now: number): string {
  const chat = profile.channels.find(
    (each) => channelKinds.get(each.kind)?.chat === true && isFresh(each, now),
  )
  return chat?.handleOrDomain ?? profile.username ?? tail
}

/** For how long a change of the name is shown: the verification may be older than the name. */
export const CHANGE_SHOWN_MS = 90 * 86_400_000

/** What is known about an owner's name; null if the account is deleted. */
function ownerNameOf(site: Site, owner: OwnerRecord, now: number): OwnerName | null {
  if (owner.deleted) return null
  const { nameChangedAt: changedAt } = owner
  const isShown = changedAt !== null && now - changedAt < CHANGE_SHOWN_MS
  return {
    selfDeclared: true,
    changedAt: isShown ? timestamp(changedAt) : null,
    verified: verifiedNameOf(site, owner, now),
  }
}

/** The published name of the strongest current verification that has one, or null. */
function verifiedNameOf(site: Site, owner: OwnerRecord, now: number): OwnerName['verified'] {
  const { publishedNames, verifications } = owner
  if (publishedNames.size === 0) return null
  const named = verifications.filter(({ provider }) => publishedNames.has(provider))
  const strongest = strongestVerification(named, now)
  if (strongest === null) return null
  const { provider, verifiedAt } = strongest
  return {
    name: publishedNames.get(provider) as string,
    provider,
    label: providerLabel(site, provider),
    verifiedAt: timestamp(startOfDay(verifiedAt)),
  }
}

/** Whether a verification that cards or the grade rest on was made by a provider for development, which accepts any name. */
function isDevelopmentOnly(owner: OwnerRecord, now: number): boolean {
  const { verifications } = owner
  // Most owners have no such verification: spares the search for the strongest one.
  if (!verifications.some((each) => isDevelopmentProvider(each.provider) && isCurrent(each, now)))
    return false
  return [strongestVerification(verifications, now), latestVerification(owner, now)].some(
    (each) => each !== null && isDevelopmentProvider(each.provider),
  )
}

/** The additive member of cards that marks verifications by a provider for development; nothing if there are none. */
function developmentMark(owner: OwnerRecord, now: number): Pick<CompactCard, 'developmentOnly'> {
  return isDevelopmentOnly(owner, now) ? { developmentOnly: true } : {}
}
