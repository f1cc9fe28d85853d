import { type Static, Type } from 'typebox'
import type { Naming } from '../naming.ts'
import {
  MAX_WEBHOOK_OVERLAP_HOURS,
  MAX_WEBHOOK_URL_LENGTH,
  MAX_WEBHOOKS,
  WEBHOOK_AUDIENCE_PATTERN,
  WEBHOOK_AUTHORIZATION_PATTERN,
  WEBHOOK_EVENT_TYPES,
  WEBHOOK_FORMATS,
} from '../webhook.ts'
import { did, timestamp } from './formats.ts'
import { nullable } from './nullable.ts'

/** Webhook endpoints of the signed-in owner, and their deliveries. */

/** `disabled`: by the service; the owner can activate it again. */
export const WEBHOOK_STATES = ['active', 'paused', 'disabled'] as const
/** The state of an endpoint. */
export type WebhookState = (typeof WEBHOOK_STATES)[number]

/**
 * Why an endpoint is disabled: it answered 410, failed for 5 days, too many deliveries waited, or its owner revoked the API key
 * that created it.
 */
export const WEBHOOK_DISABLED_REASONS = ['gone', 'failing', 'backlog', 'key_revoked'] as const
/** Why an endpoint is disabled. */
export type WebhookDisabledReason = (typeof WEBHOOK_DISABLED_REASONS)[number]

/** `pending`: waits for its turn or for the next attempt. `failed`: given up. */
export const WEBHOOK_DELIVERY_STATES = ['pending', 'delivered', 'failed'] as const
/** The state of a delivery. */
export type WebhookDeliveryState = (typeof WEBHOOK_DELIVERY_STATES)[number]

const url = () =>
  Type.String({
    minLength: 1,
    maxLength: MAX_WEBHOOK_URL_LENGTH,
    description: 'the URL that receives the deliveries: https, port 443, a public host name',
  })

const eventTypes = () =>
  nullable(
    Type.Array(Type.Enum([...WEBHOOK_EVENT_TYPES], { type: 'string' }), {
      minItems: 1,
      maxItems: WEBHOOK_EVENT_TYPES.length,
      uniqueItems: true,
      description: 'the types of events to deliver; null: all, also those of later releases',
    }),
  )

const format = () =>
  Type.Enum([...WEBHOOK_FORMATS], {
    type: 'string',
    description:
      '`standard`: Standard Webhooks; `ocsf`: the same with a body in OCSF 1.8.0; `set`: Security Event Tokens (RFC 8935). Fixed once the endpoint is created',
  })

const audience = () =>
  nullable(
    Type.String({
      pattern: WEBHOOK_AUDIENCE_PATTERN.source,
      description: 'of `set`: the claim `aud`, 1 to 300 printable ASCII characters; null: the URL',
    }),
  )

const authorization = () =>
  nullable(
    Type.String({
      pattern: WEBHOOK_AUTHORIZATION_PATTERN.source,
      description:
        'of `ocsf` and `set`: the value of the header Authorization, 1 to 1,000 printable ASCII characters such as "Bearer …"; null: none. No response has it, and a new URL removes it',
    }),
  )

export const webhookSchema = () =>
  Type.Object(
    {
      id: Type.String({ description: 'also in each delivery, as `endpoint`; not a secret' }),
      url: url(),
      format: format(),
      audience: audience(),
      hasAuthorization: Type.Boolean({
        description: 'whether deliveries have the header Authorization',
      }),
      eventTypes: eventTypes(),
      state: Type.Enum([...WEBHOOK_STATES], { type: 'string' }),
      disabledReason: Type.Unsafe<WebhookDisabledReason | null>({
        type: ['string', 'null'],
        enum: [...WEBHOOK_DISABLED_REASONS, null],
        description: 'why it is disabled; else null',
      }),
      createdAt: timestamp(),
      createdByKey: nullable(
        Type.String({
          description: 'the id of the API key that created it or gave it its URL; null: none did',
        }),
      ),
      previousSecretUntil: nullable({
        ...timestamp(),
        description:
          'after a rotation of the secret: until when the previous one signs too; else null',
      }),
      failingSince: nullable({
        ...timestamp(),
        description: 'when the first attempt failed after the last success; null: not failing',
      }),
      lastDeliveredAt: nullable(timestamp()),
      nextAttemptAt: nullable({
        ...timestamp(),
        description: 'when the next attempt is due, after a failed one; else null',
      }),
      pending: Type.Integer({
        minimum: 0,
        description: 'deliveries that wait, counted up to 1,000',
      }),
    },
    { description: 'A webhook endpoint, without its secret' },
  )

/** A webhook endpoint as its owner sees it. */
export type Webhook = Static<ReturnType<typeof webhookSchema>>

const publicKey = () =>
  Type.String({
    pattern: '^whpk_[A-Za-z0-9+/]{43}=$',
    description: 'the Ed25519 key of the v1a signatures of all deliveries of this service',
  })

/** `GET /api/account/webhooks` */
export const webhooksSchema = () =>
  Type.Object(
    {
      webhooks: Type.Array(webhookSchema(), {
        maxItems: MAX_WEBHOOKS,
        description: 'newest first',
      }),
      publicKey: publicKey(),
    },
    { description: 'The webhook endpoints' },
  )

/** The webhook endpoints of an owner. */
export type Webhooks = Static<ReturnType<typeof webhooksSchema>>

/** `POST /api/account/webhooks` */
export const newWebhookSchema = () =>
  Type.Object(
    {
      url: url(),
      eventTypes: Type.Optional(eventTypes()),
      format: Type.Optional(format()),
      audience: Type.Optional(audience()),
      authorization: Type.Optional(authorization()),
    },
    { additionalProperties: false },
  )

/** A webhook endpoint to create. */
export type NewWebhook = Static<ReturnType<typeof newWebhookSchema>>

/** An endpoint with a new secret. */
export const createdWebhookSchema = () =>
  Type.Object(
    {
      ...webhookSchema().properties,
      secret: nullable(
        Type.String({
          pattern: '^whsec_[A-Za-z0-9+/]{43}=$',
          description:
            'the key of the v1 signatures (HMAC-SHA256), shown this once; null for `set`',
        }),
      ),
      publicKey: publicKey(),
    },
    { description: 'A webhook endpoint with a new secret' },
  )

/** An endpoint with a new secret. */
export type CreatedWebhook = Static<ReturnType<typeof createdWebhookSchema>>

/** `POST /api/account/webhooks/{id}/rotate-secret` */
export const newWebhookSecretSchema = () =>
  Type.Object(
    {
      overlapHours: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: MAX_WEBHOOK_OVERLAP_HOURS,
          description:
            'how long deliveries are signed with the previous secret too; 0: no longer, because it has leaked. Default: 24',
        }),
      ),
    },
    { additionalProperties: false },
  )

/** A rotation of an endpoint's secret. */
export type NewWebhookSecret = Static<ReturnType<typeof newWebhookSecretSchema>>

/** `PATCH /api/account/webhooks/{id}` */
export const webhookPatchSchema = () =>
  Type.Object(
    {
      url: Type.Optional(url()),
      eventTypes: Type.Optional(eventTypes()),
      format: Type.Optional(format()),
      audience: Type.Optional(audience()),
      authorization: Type.Optional(authorization()),
      state: Type.Optional(
        Type.Enum(['active', 'paused'], {
          type: 'string',
          description: '`paused`: deliveries wait. `active`: continue, also after it was disabled',
        }),
      ),
    },
    { additionalProperties: false, minProperties: 1 },
  )

/** A change of an endpoint. */
export type WebhookPatch = Static<ReturnType<typeof webhookPatchSchema>>

export const webhookDeliverySchema = (naming: Naming) =>
  Type.Object(
    {
      id: Type.String({ description: 'the `webhook-id` of every attempt' }),
      type: Type.String({ description: 'the type of the event; `webhook.test` for a test' }),
      seq: nullable(Type.Integer({ description: 'the number of the event; null for a test' })),
      [naming.didField]: nullable(did(naming)),
      occurredAt: timestamp(),
      state: Type.Enum([...WEBHOOK_DELIVERY_STATES], { type: 'string' }),
      attempts: Type.Integer({ minimum: 0 }),
      lastAttemptAt: nullable(timestamp()),
      status: nullable(
        Type.Integer({ description: 'the HTTP status of the last response; null: none' }),
      ),
      problem: nullable(Type.String({ description: 'why the last attempt failed, in a sentence' })),
      durationMs: nullable(
        Type.Integer({ minimum: 0, description: 'how long the last attempt took' }),
      ),
    },
    { description: 'A delivery' },
  )

/** A delivery as the log shows it. */
export type WebhookDelivery = Static<ReturnType<typeof webhookDeliverySchema>>

/** `GET /api/account/webhooks/{id}/deliveries` */
export const webhookDeliveriesSchema = (naming: Naming) =>
  Type.Object(
    {
      deliveries: Type.Array(webhookDeliverySchema(naming), { description: 'newest first' }),
      next: nullable(Type.String({ description: 'for `before` of the next page' })),
    },
    { description: 'A page of deliveries' },
  )

/** A page of the delivery log. */
export type WebhookDeliveries = Static<ReturnType<typeof webhookDeliveriesSchema>>

/** Endpoints in the export of an account. */
export const exportedWebhooksSchema = (naming: Naming) =>
  Type.Array(
    Type.Object({
      ...webhookSchema().properties,
      deliveries: Type.Array(webhookDeliverySchema(naming), {
        description: 'of the last 30 days, newest first',
      }),
    }),
  )
