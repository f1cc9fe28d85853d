import { isCurrent, type SessionState } from '@countersign/protocol'
import { dueRenewal } from '../../accounts/identity/overview.ts'
import { providerLabel } from '../../accounts/identity-of-owner.ts'
import { countOwnInvitations } from '../../accounts/organisations/invitations.ts'
import { describeOrganisations } from '../../accounts/organisations/organisations.ts'
import { ownerById } from '../../accounts/owner-table.ts'
import { RECENT_MS, type Session } from '../../accounts/owners/session.ts'
import { allowsPasskeys } from '../../accounts/owners/sign-in-with-passkey.ts'
import type { OwnerDeps } from '../../accounts/providers/providers.ts'
import { evidenceOfVerification, verificationsOfOwner } from '../../accounts/verification-table.ts'
import { cliPackage } from '../../base/packages.ts'
import { timestamp } from '../../base/timestamp.ts'
import { channelNotes } from '../../channels/channel-notes.ts'
import type { ChannelDeps } from '../../channels/kinds/kind.ts'
import type { OwnerRow } from '../../database/database.ts'

export type SessionStateDeps = OwnerDeps &
  Pick<ChannelDeps, 'channelSources'> & { readonly recoveryDelayMs: number }

/**
 * The initial state of the dashboard: the signed-in owner, the service, and the sign-in providers.
 * @param session null if nobody is signed in
 */
export async function sessionState(
  deps: SessionStateDeps,
  session: Session | null,
): Promise<SessionState> {
  const owner = session && (await ownerById(deps.db.read, session.ownerId))
  const { site, providers } = deps
  return {
    owner: owner ? { username: owner.username, displayName: owner.display_name } : null,
    ...(await actorState(deps, session)),
    suspension: suspensionOf(owner),
    signedInAt: session && timestamp(session.signedInAt),
    signInMethod: session?.method ?? null,
    recentUntil: session && timestamp(session.signedInAt + RECENT_MS),
    renewal: session && (await renewalOf(deps, session.ownerId)),
    channelNotes: session === null ? [] : await channelNotes(deps, session.ownerId),
    service: {
      name: deps.serviceName,
      shortName: site.naming.shortName,
      idHeader: site.naming.idHeader,
      baseUrl: site.baseUrl,
      cliPackage: cliPackage(site.baseUrl),
      passkeys: allowsPasskeys(site),
      development: providers.development,
      recoveryDelaySeconds: Math.round(deps.recoveryDelayMs / 1000),
    },
    signInProviders: providers.all
      .filter((each) => each.signIn)
      .map(({ id, label }) => ({ id, label })),
  }
}

/** Who acts, for whom, and for whom else they may. */
async function actorState(
  { db, now }: SessionStateDeps,
  session: Session | null,
): Promise<Pick<SessionState, 'person' | 'actingFor' | 'organisations' | 'invitations'>> {
  const person = session && (await ownerById(db.read, session.personId))
  if (!session || !person) {
    return { person: null, actingFor: null, organisations: [], invitations: 0 }
  }
  const organisations = await describeOrganisations({ db, now }, session)
  const acting = organisations.find(({ id }) => id === session.ownerId)
  return {
    person: {
      username: person.kind === 'member' ? null : person.username,
      displayName: person.display_name,
      limited: session.limitedTo !== null,
    },
    actingFor: acting === undefined ? null : acting.username,
    organisations: organisations.map(({ id: _id, ...shown }) => shown),
    invitations: await countOwnInvitations({ db, now }, session),
  }
}

function suspensionOf(owner: OwnerRow | null | undefined): SessionState['suspension'] {
  if (!owner || owner.suspended_at === null) return null
  return { since: timestamp(owner.suspended_at), reason: owner.suspension_reason }
}

/** The verification that the owner should renew, which the dashboard shows on every page; null if none is due. */
async function renewalOf(
  { db, site, now }: OwnerDeps,
  ownerId: number,
): Promise<SessionState['renewal']> {
  const rows = await verificationsOfOwner(db.read, ownerId)
  const due = dueRenewal(rows.map(evidenceOfVerification), now())
  if (due === null || due.expiresAt === null) return null
  return {
    provider: due.provider,
    label: providerLabel(site, due.provider),
    expiresAt: timestamp(due.expiresAt),
    expired: !isCurrent(due, now()),
  }
}
