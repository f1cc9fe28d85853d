import { type AccountExport, CodedError, encodeBase64, type Tail } from '@countersign/protocol'
import { accountActivityBefore } from '../../accounts/account-activity-table.ts'
import {
  describeAddresses,
  describeChoices,
} from '../../accounts/notifications/email-preferences.ts'
import { exportNotifications } from '../../accounts/notifications/list-notifications.ts'
import { ownerById } from '../../accounts/owner-table.ts'
import { listApiKeys } from '../../accounts/owners/api-keys.ts'
import { IDENTITY_DECIDED } from '../../accounts/owners/flow.ts'
import type { Session } from '../../accounts/owners/session.ts'
import { avatarOf } from '../../agents/avatar-table.ts'
import { delegationsOf } from '../../agents/changes/delegation-table.ts'
import { exportRules } from '../../agents/enrolment/rules.ts'
import { exportKeys } from '../../agents/keys/list-keys.ts'
import { describeAccountActivity } from '../../agents/manage/activity.ts'
import { eventsOfAgent, eventsOfOwner } from '../../agents/manage/agent-event-table.ts'
import { describeEvent } from '../../agents/manage/history.ts'
import { describeOwnAgent } from '../../agents/manage/own-agent.ts'
import { ownAgents } from '../../agents/manage/own-agent-table.ts'
import { loadOwner } from '../../agents/read-model/rows.ts'
import { exportFormerReports, exportReports } from '../../agents/reports/own-reports.ts'
import { responsiblePersons } from '../../agents/responsible/responsible-person.ts'
import { timestamp, timestampOrNull } from '../../base/timestamp.ts'
import { exportChannels } from '../../channels/describe-channels.ts'
import type { AgentRow } from '../../database/database.ts'
import { exportOpenings } from '../../log/openings.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { exportMandates } from '../../statements/approvals/mandates.ts'
import { exportApprovals } from '../../statements/approvals/read-approvals.ts'
import { exportIssuers } from '../../statements/grants/manage-issuers.ts'
import { exportEndpoints } from '../../webhooks/delivery-log.ts'
import { exportMemberships, exportOrganisation, exportTransfers } from './export-organisation.ts'
import { readOwnerRecords } from './owner-data-table.ts'

type ExportDeps = Pick<CoreDeps, 'db' | 'site' | 'now'>
type ExportedAgent = AccountExport['agents'][number]

const BATCH_SIZE = 100
const ALL = Number.MAX_SAFE_INTEGER
const LAST = { seq: ALL, id: ALL }
const MAX_EVENTS = 1_000_000

/**
 * Everything that the database stores about an owner, except secrets and their hashes.
 * @returns the account, and separately its agents as a stream, because there may be very many
 * @throws CodedError UNAUTHENTICATED if the account was deleted
 */
export async function exportAccount(
  deps: ExportDeps,
  session: Session,
): Promise<{ account: Omit<AccountExport, 'agents'>; agents: AsyncGenerator<ExportedAgent> }> {
  const { read } = deps.db
  const { ownerId } = session
  const owner = await ownerById(read, ownerId)
  if (owner === undefined) throw new CodedError('UNAUTHENTICATED', 'Sign in first.')
  const records = await readOwnerRecords(read, ownerId)
  const account = {
    service: deps.site.baseUrl,
    exportedAt: timestamp(deps.now()),
    owner: { username: owner.username, displayName: owner.display_name },
    createdAt: timestamp(owner.created_at),
    suspendedAt: timestampOrNull(owner.suspended_at),
    suspensionReason: owner.suspension_reason,
    nameChangedAt: timestampOrNull(owner.name_changed_at),
    badgeCopiedAt: timestampOrNull(owner.badge_copied_at),
    onboardingHiddenAt: timestampOrNull(owner.onboarding_hidden_at),
    userHandle: owner.user_handle,
    ...describeRecords(records, session),
    apiKeys: await listApiKeys(deps, ownerId),
    organisation: await exportOrganisation(read, owner),
    memberships: await exportMemberships(read, ownerId),
    transfers: await exportTransfers(read, deps.site, ownerId),
    webhooks: await exportEndpoints(read, deps.site, ownerId, deps.now()),
    enrolmentRules: await exportRules(deps, ownerId),
    formerReports: await exportFormerReports(read, deps.site, ownerId),
    grantIssuers: await exportIssuers(read, deps.site, ownerId),
    approvals: await exportApprovals(deps, ownerId),
    mandates: await exportMandates(deps, ownerId),
    notifications: await exportNotifications(read, deps.site, ownerId),
    emailAddresses: await describeAddresses(read, ownerId),
    emailPreferences: await describeChoices(read, ownerId),
    activity: (await accountActivityBefore(read, ownerId, LAST, ALL)).map(describeAccountActivity),
    events: (await eventsOfOwner(read, ownerId)).map(describeEvent),
  }
  return { account, agents: exportAgents(deps, ownerId) }
}

type Records = Awaited<ReturnType<typeof readOwnerRecords>>

function describeRecords(records: Records, session: Session) {
  return {
    passkeys: records.passkeys.map((each) => ({
      id: each.credential_id,
      name: each.name,
      createdAt: timestamp(each.created_at),
      lastUsedAt: timestampOrNull(each.last_used_at),
      backedUp: each.backed_up === 1,
    })),
    recoveryCodes: {
      left: records.codes.length,
      createdAt: timestampOrNull(records.codes[0]?.created_at ?? null),
    },
    sessions: records.sessions.map((each) => ({
      id: each.id,
      current: each.id === session.id,
      method: each.method,
      passkey: each.passkey_id,
      browser: each.browser,
      createdAt: timestamp(each.signed_in_at),
      lastSeenAt: timestamp(each.last_seen_at),
      expiresAt: timestamp(each.expires_at),
    })),
    signInProviders: records.identities.map((each) => ({
      id: each.provider,
      linkedAt: timestamp(each.created_at),
    })),
    signInLinks: records.links.map((each) => ({ expiresAt: timestamp(each.expires_at) })),
    begun: records.flows
      .filter(({ kind }) => kind !== IDENTITY_DECIDED)
      .map(({ kind, provider, expires_at }) => ({
        kind,
        provider,
        expiresAt: timestamp(expires_at),
      })),
    verifications: records.verifications.map(({ provider, assurance, country, ...each }) => ({
      provider,
      assurance,
      country,
      verifiedAt: timestamp(each.verified_at),
      publishedName: each.published_name,
      expiresAt: timestampOrNull(each.expires_at),
    })),
    releasedUsernames: records.usernames.map((each) => ({
      availableAt: timestamp(each.available_at),
    })),
    claimTokens: records.tokens.map((each) => ({
      createdAt: timestamp(each.created_at),
      expiresAt: timestamp(each.expires_at),
      usedAt: timestampOrNull(each.used_at),
      supersededAt: timestampOrNull(each.superseded_at),
    })),
  }
}

async function* exportAgents(deps: ExportDeps, ownerId: number): AsyncGenerator<ExportedAgent> {
  for (let after: number | null = null; ; ) {
    const all = { status: null, responsible: null, containing: null, enrolled: null }
    const filter = { ownerId, after, order: 'newest', ...all } as const
    const rows: AgentRow[] = await ownAgents(deps.db.read, filter, BATCH_SIZE)
    for (const row of rows) yield await exportAgent(deps, row)
    const last = rows.at(-1)
    if (last === undefined) return
    after = last.seq
  }
}

async function exportAgent({ db, site, now }: ExportDeps, row: AgentRow): Promise<ExportedAgent> {
  const owner = await loadOwner(db.read, row.owner_id)
  const persons = await responsiblePersons(db.read, [row])
  const picture = await avatarOf(db.read, row.tail)
  const groups = await delegationsOf(db.read, row.tail)
  const history = await eventsOfAgent(
    db.read,
    { tail: row.tail, seq: row.seq, ownerId: row.owner_id },
    ALL,
    MAX_EVENTS,
  )
  return {
    ...(await describeOwnAgent(db.read, site, row, { owner, persons }, now())),
    publicKey: encodeBase64(row.public_key),
    avatar: picture === undefined ? null : encodeBase64(picture.webp),
    channels: await exportChannels(db.read, row.tail, now()),
    ...(await exportKeys(db.read, row)),
    delegations: groups.map((each) => ({
      id: each.id,
      label: each.label,
      createdAt: timestamp(each.created_at),
      expiresAt: timestamp(each.expires_at),
      endedAt: timestampOrNull(each.ended_at),
    })),
    history: history.map(describeEvent),
    log: await exportOpenings(db.read, row.owner_id, row.tail as Tail),
    reports: await exportReports(db.read, row),
  }
}
