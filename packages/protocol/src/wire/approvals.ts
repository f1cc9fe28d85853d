import { type Static, Type } from 'typebox'
import { APPROVED_BY } from '../approvals/read-token.ts'
import { MAX_APPROVAL_URL_LENGTH } from '../approvals/request.ts'
import type { Naming } from '../naming.ts'
import { did, timestamp } from './formats.ts'
import { nullable } from './nullable.ts'
import { openObject } from './session.ts'

/** Approvals: a person agrees to one request of an agent (docs/approvals.md). */

/** `expired` and `cancelled` follow from the time, the agent and its owner; the other states are stored. */
export const APPROVAL_STATES = ['pending', 'approved', 'denied', 'expired', 'cancelled'] as const
export type ApprovalState = (typeof APPROVAL_STATES)[number]

/** Pending approvals of an agent, and of all agents of an owner. */
export const MAX_PENDING_APPROVALS = { agent: 3, owner: 10 } as const
/** Approvals that an agent can ask for in 24 hours. */
export const MAX_APPROVALS_PER_DAY = 20
/** How long an agent cannot ask after two denials in a row. */
export const DENIED_PAUSE_SECONDS = 3600
/** The longest message of an agent, in code points. */
export const MAX_APPROVAL_MESSAGE = 200
/** How often to ask for the state. */
export const APPROVAL_POLL_SECONDS = 5

/** The values of what a request for an approval leaves out. */
export const APPROVAL_DEFAULTS = { expiresInSeconds: 900, validSeconds: 600 } as const

export const approvalId = () =>
  Type.String({
    pattern: '^ap_[A-Za-z0-9_-]{22}$',
    description: 'the id of an approval: ap_ and 22 base64url characters',
  })

const state = () =>
  Type.Enum([...APPROVAL_STATES], {
    type: 'string',
    description:
      'cancelled: the agent is not active, has another key or another owner, or may no longer ask',
  })

const approvedBy = () =>
  Type.Unsafe<(typeof APPROVED_BY)[number] | null>({
    type: ['string', 'null'],
    enum: [...APPROVED_BY, null],
    description:
      'what approved it: a passkey, or a mandate that a passkey has signed; null: nothing did',
  })

const digest = (description: string) =>
  nullable(
    Type.String({ description: `SHA-256 of ${description}, base64url; null: there is none` }),
  )

/** `POST /api/v1/agent/{did}/approvals` */
export const approvalRequestSchema = () =>
  Type.Object(
    {
      request: Type.Object(
        {
          method: Type.String({
            pattern: '^[A-Z]{1,16}$',
            description: 'the method, such as POST',
          }),
          url: Type.String({
            minLength: 1,
            maxLength: MAX_APPROVAL_URL_LENGTH,
            description: 'the URL as new URL(url).href gives it',
          }),
          contentType: Type.Optional(
            Type.Literal('application/json', { description: 'with a body only' }),
          ),
          body: Type.Optional(
            Type.String({
              maxLength: 4096,
              description: 'the body as text: a JSON object of at most 4,096 bytes',
            }),
          ),
        },
        { additionalProperties: false, description: 'the request, byte for byte' },
      ),
      message: Type.Optional(
        Type.String({
          pattern: `^[^\\p{Cc}\\p{Cs}\\u202a-\\u202e\\u2066-\\u2069]{1,${MAX_APPROVAL_MESSAGE}}$`,
          description: `what you say about the request: 1 to ${MAX_APPROVAL_MESSAGE} characters, without control characters and text direction overrides`,
        }),
      ),
      expiresInSeconds: Type.Optional(
        Type.Integer({
          minimum: 60,
          maximum: 86_400,
          description: 'how long the owner has to decide, default 900',
        }),
      ),
      validSeconds: Type.Optional(
        Type.Integer({
          minimum: 60,
          maximum: 3600,
          description: 'how long the approval can be used after the decision, default 600',
        }),
      ),
    },
    { additionalProperties: false },
  )

/** A request for an approval. */
export type ApprovalRequest = Static<ReturnType<typeof approvalRequestSchema>>

export const requestedApprovalSchema = () =>
  Type.Object(
    {
      id: approvalId(),
      state: state(),
      by: Type.Optional(
        Type.Literal('mandate', { description: 'a mandate approved it at once: read its token' }),
      ),
      expiresAt: { ...timestamp(), description: 'until when the owner can decide' },
      approveUrl: Type.String({ description: 'the page on which the owner decides' }),
      pollSeconds: Type.Integer({
        description: 'how long to wait between two requests for its state',
      }),
    },
    { description: 'An approval that an agent has asked for' },
  )

/** An approval that an agent has asked for. */
export type RequestedApproval = Static<ReturnType<typeof requestedApprovalSchema>>

/** `GET /api/v1/approvals/{id}` */
export const approvalStateSchema = () =>
  Type.Object(
    {
      id: approvalId(),
      state: state(),
      expiresAt: { ...timestamp(), description: 'until when the owner can decide' },
      token: Type.Optional(
        Type.String({ description: 'the approval token, a JWT, until it expires' }),
      ),
      tokenExpiresAt: Type.Optional({
        ...timestamp(),
        description: 'until when sites accept the token',
      }),
    },
    { description: 'The state of an approval' },
  )

/** The state of an approval, with its token once it is approved. */
export type ApprovalProgress = Static<ReturnType<typeof approvalStateSchema>>

const summary = (naming: Naming) => ({
  id: approvalId(),
  agent: did(naming),
  displayName: Type.String({ description: 'the name of the agent, which nobody verified' }),
  state: state(),
  by: approvedBy(),
  method: Type.String(),
  url: Type.String(),
  createdAt: timestamp(),
  expiresAt: { ...timestamp(), description: 'until when you can decide' },
  decidedAt: nullable({ ...timestamp(), description: 'when it was approved or denied' }),
  tokenExpiresAt: nullable({
    ...timestamp(),
    description: 'until when the approval can be used; null: it was not approved',
  }),
})

export const approvalAssertion = () =>
  nullable(
    Type.Object(
      {
        publicKey: Type.String({ description: 'the COSE key of the passkey, base64url' }),
        clientData: Type.String({ description: 'base64url' }),
        authenticatorData: Type.String({ description: 'base64url' }),
        signature: Type.String({ description: 'base64url' }),
      },
      {
        description:
          'what the passkey signed; null: none did. The challenge is the hash of the statement',
      },
    ),
  )

/** What only the page of one approval has. */
const details = () => ({
  service: Type.String({ description: 'the address of the service when the agent asked' }),
  contentType: nullable(Type.String()),
  body: nullable(
    Type.String({ description: 'null: there is none, or it was deleted 30 days after the end' }),
  ),
  bodyDigest: digest('the body'),
  message: nullable(
    Type.String({ description: 'what the agent says; deleted 30 days after the end' }),
  ),
  messageDigest: digest('the message'),
  salt: Type.String({ description: '32 random bytes of the statement, base64url' }),
  decidedBy: nullable(
    Type.String({ description: 'the member of the organisation who decided, by their name' }),
  ),
  validSeconds: Type.Integer({ description: 'how long the approval is valid' }),
  assertion: approvalAssertion(),
  mandate: nullable(Type.String({ description: 'the id of the mandate that approved it' })),
})

/** `GET /api/account/approvals` */
export const ownerApprovalsSchema = (naming: Naming) =>
  Type.Object(
    {
      approvals: Type.Array(Type.Object(summary(naming)), { description: 'newest first' }),
      pending: Type.Integer({ minimum: 0, description: 'how many wait for a decision' }),
      next: nullable(Type.String({ description: 'pass it as `before` for the next page' })),
    },
    { description: 'A page of approvals' },
  )

/** A page of approvals. */
export type OwnerApprovals = Static<ReturnType<typeof ownerApprovalsSchema>>

/** `GET /api/account/approvals/{id}`, and what a decision gives. */
export const ownerApprovalSchema = (naming: Naming) =>
  Type.Object(
    {
      ...summary(naming),
      ...details(),
      firstForOrigin: Type.Boolean({
        description: 'the agent has no approval for this site yet: ask whether the owner knows it',
      }),
    },
    { description: 'An approval as its owner sees it' },
  )

/** An approval as its owner sees it. */
export type OwnerApproval = Static<ReturnType<typeof ownerApprovalSchema>>

/** `POST /api/account/approvals/{id}/options` */
export const approvalOptionsSchema = () =>
  Type.Object({
    allowCredentials: Type.Array(
      Type.Object({
        id: Type.String({ description: 'the credential id, base64url' }),
        type: Type.Literal('public-key'),
        transports: Type.Array(Type.String()),
      }),
      { description: 'the passkeys that can approve' },
    ),
  })

/** The passkeys that can approve. */
export type ApprovalOptions = Static<ReturnType<typeof approvalOptionsSchema>>

/** `POST /api/account/approvals/{id}/approve` */
export const approveRequestSchema = () =>
  Type.Object(
    { response: openObject('the assertion of the passkey in its JSON form') },
    { additionalProperties: false },
  )

/** `POST /api/account/approvals/{id}/deny` */
export const denyRequestSchema = () =>
  Type.Object(
    { turnOff: Type.Boolean({ description: 'true: the agent may not ask any more' }) },
    { additionalProperties: false },
  )

/** `PUT /api/account/agents/{agent}/approvals` */
export const approvalsSwitchSchema = () =>
  Type.Object(
    { enabled: Type.Boolean({ description: 'whether the agent may ask for approvals' }) },
    { additionalProperties: false },
  )

export const approvalsSettingSchema = () =>
  Type.Object({
    enabled: Type.Boolean({ description: 'whether the agent may ask for approvals' }),
    changedAt: nullable({ ...timestamp(), description: 'null: it was so already' }),
  })

/** Whether an agent may ask for approvals. */
export type ApprovalsSetting = Static<ReturnType<typeof approvalsSettingSchema>>

/** Approvals in the export of an account. */
export const exportedApprovalsSchema = (naming: Naming) =>
  Type.Array(
    Type.Object({
      ...summary(naming),
      ...details(),
      statement: Type.String({
        description:
          'what was signed, as canonical JSON (RFC 8785): that of the mandate if one approved it',
      }),
    }),
    { description: 'approvals that agents have asked for, oldest first' },
  )
