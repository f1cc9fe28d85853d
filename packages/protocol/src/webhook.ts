/**
 * The types of events that webhooks deliver: those of agents that everybody may know of, and approvals. Profiles and owners are left out.
 * Only ever extended, because endpoints store them.
 */
export const WEBHOOK_EVENT_TYPES = [
  'agent.claimed',
  'agent.suspended',
  'agent.reactivated',
  'agent.revoked',
  'agent.renounced',
  'agent.released',
  'agent.owner_changed',
  'agent.grade_changed',
  'agent.delegation_changed',
  'agent.delegation_created',
  'agent.delegation_ended',
  'agent.key_rotated',
  'agent.key_contested',
  'agent.key_compromised',
  'agent.key_recovery_started',
  'agent.key_recovery_redeemed',
  'agent.key_recovery_vetoed',
  'agent.key_recovery_cancelled',
  'agent.key_recovered',
  'agent.directory_proven',
  'agent.approval_requested',
  'agent.approval_decided',
  'channel.verified',
  'channel.stale',
  'channel.removed',
] as const

/** A type of event that webhooks deliver. */
export type WebhookEventType = (typeof WEBHOOK_EVENT_TYPES)[number]

/**
 * What an endpoint receives. `standard`: Standard Webhooks. `ocsf`: the same with a body in OCSF 1.8.0. `set`: Security Event Tokens (RFC 8417,
 * RFC 8935).
 */
export const WEBHOOK_FORMATS = ['standard', 'ocsf', 'set'] as const
/** What an endpoint receives. */
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number]

/** The types of events that become Security Event Tokens. */
export const SET_EVENT_TYPES = [
  'agent.claimed',
  'agent.suspended',
  'agent.reactivated',
  'agent.revoked',
  'agent.key_rotated',
  'agent.key_contested',
  'agent.key_compromised',
  'agent.key_recovered',
] as const satisfies readonly WebhookEventType[]

/** A type of event that becomes a Security Event Token. */
export type SetEventType = (typeof SET_EVENT_TYPES)[number]

/** The type of a test delivery, which is about no event. */
export const WEBHOOK_TEST_TYPE = 'webhook.test'

/** Webhook endpoints that an owner may have at once. */
export const MAX_WEBHOOKS = 10

/** The longest time in which both the current and the previous secret of an endpoint sign: a week. */
export const MAX_WEBHOOK_OVERLAP_HOURS = 168

/** The `aud` of Security Event Tokens: 1 to 300 printable ASCII characters. */
export const WEBHOOK_AUDIENCE_PATTERN = /^[ -~]{1,300}$/

/** A value of `Authorization`: 1 to 1,000 printable ASCII characters, no space at the ends. */
export const WEBHOOK_AUTHORIZATION_PATTERN = /^(?=[!-~](?:.*[!-~])?$)[ -~]{1,1000}$/

/** The longest URL of an endpoint, in characters. */
export const MAX_WEBHOOK_URL_LENGTH = 1024
