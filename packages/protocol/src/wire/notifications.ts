import { type Static, Type } from 'typebox'
import { timestamp } from './formats.ts'
import { nullable } from './nullable.ts'

/** Notifications of owners, their e-mail addresses and preferences. Part of the dashboard's own API. */

/** What owners are notified of without a choice, because somebody else may be acting in their name. */
export const SECURITY_KINDS = [
  'agent_key_changed',
  'agent_delegation_changed',
  'agent_renounced',
  'agent_revoked',
  'agent_suspended',
  'agents_revoked',
  'account_suspended',
  'new_sign_in',
  'recovery_code_used',
  'sign_in_method_added',
  'sign_in_method_removed',
  'email_address_added',
  'email_address_removed',
  'verification_removed',
  'api_key_created',
  'access_changed',
  'member_changed',
  'transfer',
  'enrolment_rule_changed',
  'report',
] as const

/** Every kind of notification. Only ever extended, because kinds are stored. */
export const NOTIFICATION_KINDS = [
  'verification_expiring',
  'verification_expired',
  'channel_expiring',
  'channel_failing',
  'channel_lost',
  'email_undeliverable',
  'webhook_disabled',
  'invitation',
  'responsible_missing',
  'enrolment_attention',
  'approval',
  ...SECURITY_KINDS,
] as const

/** A kind of notification. */
export type NotificationKind = (typeof NOTIFICATION_KINDS)[number]

/** Whether a kind is about security: e-mail of it has no unsubscribe link. */
export function isSecurityKind(kind: NotificationKind): boolean {
  return (SECURITY_KINDS as readonly string[]).includes(kind)
}

const kind = () => Type.Enum([...NOTIFICATION_KINDS], { type: 'string' })
const security = () =>
  Type.Boolean({ description: 'about security: only its e-mails can be turned off' })

const notificationSchema = () =>
  Type.Object({
    id: Type.String(),
    kind: kind(),
    security: security(),
    title: Type.String({ description: 'what happened, in a sentence' }),
    text: Type.String({ description: 'the consequence and the next step' }),
    link: nullable(
      Type.String({ description: 'the path of the page where the owner can act, if any' }),
    ),
    createdAt: timestamp(),
    readAt: nullable(timestamp()),
  })

/** A notification as its owner sees it. */
export type Notification = Static<ReturnType<typeof notificationSchema>>

/** `GET /api/account/notifications` */
export const notificationsSchema = () =>
  Type.Object(
    {
      notifications: Type.Array(notificationSchema(), { description: 'newest first' }),
      unread: Type.Integer({ minimum: 0, description: 'of all pages, counted up to 100' }),
      next: nullable(Type.String({ description: 'pass it as `before` for the next page' })),
    },
    { description: 'A page of notifications' },
  )

/** A page of notifications. */
export type Notifications = Static<ReturnType<typeof notificationsSchema>>

/** `POST /api/account/notifications/read`: marks these as read, without `ids` all. */
export const readNotificationsSchema = () =>
  Type.Object(
    {
      ids: Type.Optional(
        Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { minItems: 1, maxItems: 100 }),
      ),
    },
    { additionalProperties: false },
  )

const emailAddressSchema = () =>
  Type.Object({
    id: Type.String(),
    address: Type.String(),
    addedAt: timestamp(),
    verifiedAt: nullable({
      ...timestamp(),
      description: 'null until the owner has confirmed the link; until then, it gets nothing else',
    }),
  })

/** An e-mail address of the signed-in owner. */
export type EmailAddress = Static<ReturnType<typeof emailAddressSchema>>

const emailPreferenceSchema = () =>
  Type.Object({
    kind: kind(),
    label: Type.String(),
    security: security(),
    enabled: Type.Boolean({ description: 'whether it is also sent by e-mail' }),
  })

/** `GET /api/account/email` */
export const emailSettingsSchema = () =>
  Type.Object(
    {
      available: Type.Boolean({ description: 'whether this service can send e-mail' }),
      development: Type.Boolean({
        description: 'e-mail is not sent but shown at /development/mail',
      }),
      addresses: Type.Array(emailAddressSchema(), { description: 'in the order of addition' }),
      preferences: Type.Array(emailPreferenceSchema()),
    },
    { description: 'E-mail addresses and preferences' },
  )

/** The e-mail settings of the signed-in owner. */
export type EmailSettings = Static<ReturnType<typeof emailSettingsSchema>>

/** `POST /api/account/email/addresses` */
export const newEmailAddressSchema = () =>
  Type.Object(
    { address: Type.String({ minLength: 3, maxLength: 254, description: 'an e-mail address' }) },
    { additionalProperties: false },
  )

/** `PATCH /api/account/email/preferences` */
export const emailPreferencePatchSchema = () =>
  Type.Object({ kind: kind(), enabled: Type.Boolean() }, { additionalProperties: false })

/** Notifications in the export of an account. */
export const exportedNotificationsSchema = () => Type.Array(notificationSchema())

/** E-mail addresses in the export of an account. */
export const exportedAddressesSchema = () => Type.Array(emailAddressSchema())

/** E-mail preferences in the export of an account. */
export const exportedPreferencesSchema = () =>
  Type.Array(Type.Object({ kind: Type.String(), enabled: Type.Boolean() }))
