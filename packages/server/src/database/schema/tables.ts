import type { AgentRow, AvatarRow, ClaimTokenRow } from './agent-rows.ts'
import type { ApprovalRow, MandateRow } from './approval-rows.ts'
import type { ChannelCheckRow, ChannelLeaseRow, ChannelRow } from './channel-rows.ts'
import type { EnrolmentRow, EnrolmentRuleRow, EnrolmentTokenRow } from './enrolment-rows.ts'
import type { GrantAssignmentRow, GrantIssuerRow, GrantUseRow, UsedNonceRow } from './grant-rows.ts'
import type {
  AgentKeyRow,
  IssuerKeyReportRow,
  IssuerKeyRow,
  KeyRecoveryRow,
  SuspendedKeyRow,
} from './key-rows.ts'
import type {
  LogEntryRow,
  LogEpochRow,
  LogJoinRow,
  LogPendingRow,
  LogQueueRow,
  LogQuotaRow,
  LogTileRow,
  LogWitnessRow,
  WitnessedLogRow,
  WitnessKeyRow,
} from './log-rows.ts'
import type {
  AccountActivityRow,
  EmailAddressRow,
  EmailOutboxRow,
  EmailPreferenceRow,
  NotificationRow,
} from './notification-rows.ts'
import type {
  InvitationRow,
  MemberActionRow,
  MembershipRow,
  OrganisationDomainRow,
  OrganisationSettingsRow,
  ScimTokenRow,
  ScimUserRow,
  SsoConnectionRow,
  TransferAgentRow,
  TransferRow,
} from './organisation-rows.ts'
import type { IdentityVerificationRow, OwnerRow, ReleasedUsernameRow } from './owner-rows.ts'
import type { ReportEvidenceRow, ReportRow } from './report-rows.ts'
import type { EventRow, JobRow, RateCountRow } from './shared-rows.ts'
import type {
  ApiKeyRow,
  FlowRow,
  PasskeyRow,
  RecoveryCodeRow,
  SessionRow,
  SignInIdentityRow,
  SignInLinkRow,
} from './sign-in-rows.ts'
import type { DelegationRow, FeedChangeRow, StatusEntryRow, StatusListRow } from './status-rows.ts'
import type { WebhookDeliveryRow, WebhookEndpointRow } from './webhook-rows.ts'

/**
 * The tables, as the newest migration leaves them. Times are milliseconds since the Unix epoch. Keys and hashes are raw
 * bytes.
 */
export interface Tables {
  owners: OwnerRow
  identity_verifications: IdentityVerificationRow
  claim_tokens: ClaimTokenRow
  agents: AgentRow
  agent_keys: AgentKeyRow
  suspended_keys: SuspendedKeyRow
  key_recoveries: KeyRecoveryRow
  status_lists: StatusListRow
  status_entries: StatusEntryRow
  delegations: DelegationRow
  feed_changes: FeedChangeRow
  channels: ChannelRow
  channel_checks: ChannelCheckRow
  channel_leases: ChannelLeaseRow
  events: EventRow
  jobs: JobRow
  passkeys: PasskeyRow
  recovery_codes: RecoveryCodeRow
  sign_in_identities: SignInIdentityRow
  sign_in_links: SignInLinkRow
  sessions: SessionRow
  api_keys: ApiKeyRow
  flows: FlowRow
  avatars: AvatarRow
  /** Settings that all nodes share. */
  settings: { name: string; value: string }
  rate_counts: RateCountRow
  released_usernames: ReleasedUsernameRow
  notifications: NotificationRow
  account_activity: AccountActivityRow
  email_addresses: EmailAddressRow
  email_preferences: EmailPreferenceRow
  email_outbox: EmailOutboxRow
  webhook_endpoints: WebhookEndpointRow
  webhook_deliveries: WebhookDeliveryRow
  issuer_keys: IssuerKeyRow
  issuer_key_reports: IssuerKeyReportRow
  approvals: ApprovalRow
  mandates: MandateRow
  grant_issuers: GrantIssuerRow
  grant_assignments: GrantAssignmentRow
  grant_uses: GrantUseRow
  used_nonces: UsedNonceRow
  log_queue: LogQueueRow
  log_epochs: LogEpochRow
  log_entries: LogEntryRow
  log_tiles: LogTileRow
  log_quotas: LogQuotaRow
  log_pending: LogPendingRow
  log_witnesses: LogWitnessRow
  log_joins: LogJoinRow
  witness_keys: WitnessKeyRow
  witnessed_logs: WitnessedLogRow
  memberships: MembershipRow
  invitations: InvitationRow
  organisation_settings: OrganisationSettingsRow
  organisation_domains: OrganisationDomainRow
  sso_connections: SsoConnectionRow
  scim_tokens: ScimTokenRow
  scim_users: ScimUserRow
  transfers: TransferRow
  transfer_agents: TransferAgentRow
  member_actions: MemberActionRow
  enrolment_rules: EnrolmentRuleRow
  enrolments: EnrolmentRow
  enrolment_tokens: EnrolmentTokenRow
  reports: ReportRow
  report_evidence: ReportEvidenceRow
}
