import { type Static, Type } from 'typebox'
import type { Naming } from '../naming.ts'
import { did, status } from './formats.ts'
import { nullable } from './nullable.ts'
import { eventSchema } from './owner-agents.ts'
import { openObject } from './session.ts'

/** The events of an account and its agents: newest first for people, oldest first for programs. */

export const ACTIVITY_KINDS = ['agent', 'channel', 'owner'] as const
/** The first part of an event type. */
export type ActivityKind = (typeof ACTIVITY_KINDS)[number]

/** Query of `GET /api/account/activity`. */
export const activityQuerySchema = () =>
  Type.Object(
    {
      kind: Type.Optional(
        Type.Enum([...ACTIVITY_KINDS], {
          type: 'string',
          description: 'only events whose type starts with it; owner: of the account itself',
        }),
      ),
      before: Type.Optional(Type.String({ pattern: '^\\d{1,15}(?:\\.\\d{1,15})?$' })),
    },
    { additionalProperties: false },
  )

export type ActivityQuery = Static<ReturnType<typeof activityQuerySchema>>

/** An event or an activity of an account in a response. */
export const activityEventSchema = (naming: Naming) =>
  Type.Object({
    ...eventSchema().properties,
    id: Type.String({ description: 'unique in the list' }),
    seq: nullable({
      ...Type.Integer(),
      description:
        'the number of the event; null for sign-ins, ended sessions and sign-in methods, which are deleted after 400 days',
    }),
    providerLabel: nullable(
      Type.String({ description: 'the display name of the identity provider in `facts`' }),
    ),
    agent: nullable(
      Type.Object({
        [naming.didField]: did(naming),
        displayName: Type.String(),
        status: status(),
      }),
    ),
  })

/** `GET /api/account/activity` */
export const activitySchema = (naming: Naming) =>
  Type.Object(
    {
      events: Type.Array(activityEventSchema(naming)),
      next: nullable(Type.String({ description: 'pass it as `before` for the next page' })),
    },
    { description: 'Events of the account and its agents, newest first' },
  )

export type Activity = Static<ReturnType<typeof activitySchema>>

/** `countersign`: as the activity has them. `ocsf`: OCSF 1.8.0, one a line. */
export const EVENT_FORMATS = ['countersign', 'ocsf'] as const
/** A format of `GET /api/account/events`. */
export type EventFormat = (typeof EVENT_FORMATS)[number]

const cursor = () =>
  Type.String({
    pattern: '^[\\w-]{1,64}-\\d{1,15}(?:\\.\\d{1,15})?$',
    description: 'a position among the events, such as 7-1215.3; do not parse it',
  })

/** Query of `GET /api/account/events`. */
export const accountEventsQuerySchema = () =>
  Type.Object(
    {
      after: Type.Optional({
        ...cursor(),
        description: '`next` of the page before; absent: from the oldest event that is stored',
      }),
      limit: Type.Optional(
        Type.String({
          pattern: '^(?:[1-9]\\d?|[1-4]\\d\\d|500)$',
          description: 'the number of events of a page, 1 to 500; 100 unless given',
        }),
      ),
      format: Type.Optional(
        Type.Enum([...EVENT_FORMATS], {
          type: 'string',
          description: '`countersign` unless given; `ocsf`: OCSF 1.8.0, one event a line',
        }),
      ),
    },
    { additionalProperties: false },
  )

export type AccountEventsQuery = Static<ReturnType<typeof accountEventsQuerySchema>>

/** `GET /api/account/events` */
export const accountEventsSchema = (naming: Naming) =>
  Type.Object(
    {
      events: Type.Array(
        Type.Object({ ...activityEventSchema(naming).properties, cursor: cursor() }),
      ),
      next: Type.String({
        description: 'pass it as `after` for the next page, also if this one is empty',
      }),
      more: Type.Boolean({ description: 'whether there are more events already' }),
    },
    { description: 'Events of the account and its agents, oldest first' },
  )

export type AccountEvents = Static<ReturnType<typeof accountEventsSchema>>

const uid = (description: string) => Type.Object({ uid: Type.String({ description }) })

/** An event in OCSF 1.8.0: Entity Management (3004), Authentication (3002) or Detection Finding (2004). */
export const ocsfEventSchema = () =>
  Type.Object(
    {
      class_uid: Type.Enum([3004, 3002, 2004], { type: 'integer' }),
      category_uid: Type.Integer(),
      activity_id: Type.Integer(),
      activity_name: Type.Optional(Type.String({ description: 'our type, with activity 99' })),
      type_uid: Type.Integer(),
      severity_id: Type.Integer({ minimum: 1, maximum: 4 }),
      status_id: Type.Literal(1),
      time: Type.Integer({ description: 'when it happened, in milliseconds since 1970' }),
      message: Type.String({ description: 'our type, such as agent.suspended' }),
      metadata: Type.Object({
        version: Type.Literal('1.8.0'),
        uid: Type.String({ description: 'of the event: the same wherever it is read' }),
        event_code: Type.String({ description: 'our type' }),
        log_provider: Type.String({ description: 'the address of this service' }),
        product: Type.Object({
          name: Type.String(),
          vendor_name: Type.String(),
          version: Type.String(),
        }),
      }),
      entity: Type.Optional(
        Type.Object(
          {
            uid: Type.String(),
            type_id: Type.Integer(),
            type: Type.String(),
            user: Type.Optional(uid('the username')),
            org: Type.Optional(uid('the ID of the organisation')),
          },
          { description: 'of 3004: an agent by its DID, a user, or an organisation' },
        ),
      ),
      user: Type.Optional(uid('of 3002: the username')),
      service: Type.Optional(Type.Object({ name: Type.String(), uid: Type.String() })),
      auth_protocol_id: Type.Optional(Type.Literal(99)),
      auth_protocol: Type.Optional(Type.String({ description: 'of 3002: the sign-in method' })),
      finding_info: Type.Optional(Type.Object({ uid: Type.String(), title: Type.String() })),
      resources: Type.Optional(
        Type.Array(Type.Object({ uid: Type.String(), type: Type.String() }), {
          description: 'of 2004: the agent by its DID',
        }),
      ),
      unmapped: Type.Optional(openObject('members of our payload')),
    },
    { description: 'An event in OCSF 1.8.0' },
  )

export type OcsfEvent = Static<ReturnType<typeof ocsfEventSchema>>
