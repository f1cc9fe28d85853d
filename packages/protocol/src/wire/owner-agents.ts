import { type Static, Type } from 'typebox'
import { BASE58_CLASS } from '../base58.ts'
import type { Naming } from '../naming.ts'
import { STATUS_SETTERS } from '../status.ts'
import { DESCRIPTION_PATTERN } from '../text.ts'
import { cardMembers } from './card.ts'
import { maxDelegationDepth } from './delegation.ts'
import { agentEnrolmentSchema } from './enrolment.ts'
import { did, status, timestamp } from './formats.ts'
import { displayName, username } from './names.ts'
import { nullable } from './nullable.ts'
import { membershipId } from './organisations.ts'
import { responsibleSchema } from './responsible.ts'
import { openObject } from './session.ts'

/** The agents of the signed-in owner. Part of the dashboard's own API. */

const grade = () => Type.Enum(['A', 'B', 'C', 'D', 'E'], { type: 'string' })

/** An agent as its owner sees it: its card and private fields. */
export const ownerAgentSchema = (naming: Naming) =>
  Type.Object(
    {
      ...cardMembers(naming),
      agentId: Type.String({ description: "the owner's own label; never public" }),
      keyThumbprint: Type.String({ description: 'RFC 7638, SHA-256, base64url' }),
      identityLevel: Type.String({ description: 'identity provider, or `unverified`' }),
      statusReason: nullable(Type.String()),
      statusChangedAt: timestamp(),
      statusSetBy: Type.Enum([...STATUS_SETTERS], {
        type: 'string',
        description:
          'who set it; agent: it renounced its certificate; service: its key was reported as compromised, it renounced 72 hours before, or it has no responsible person',
      }),
      updatedAt: timestamp(),
      maxDelegationDepth: maxDelegationDepth(),
      approvalsEnabled: Type.Boolean({ description: 'whether it may ask you for approvals' }),
      ownerChangedAt: nullable({
        ...timestamp(),
        description: 'when the agent last moved to another owner; null: never',
      }),
      hasAvatar: Type.Boolean({ description: 'false: the picture is generated from the DID' }),
      profile: Type.Object(
        {
          displayName: nullable(Type.String()),
          username: nullable(Type.String()),
          description: nullable(Type.String()),
        },
        { description: 'as the owner entered it; null where nothing was' },
      ),
      responsible: nullable(responsibleSchema()),
      enrolment: nullable(agentEnrolmentSchema()),
      nextStep: nullable(
        Type.Object(
          { grade: grade(), step: Type.String() },
          { description: 'what would raise the grade' },
        ),
      ),
    },
    { description: 'An agent of the owner' },
  )

export type OwnerAgent = Static<ReturnType<typeof ownerAgentSchema>>

/** `GET /api/account/agents` */
export const ownerAgentsSchema = (naming: Naming) =>
  Type.Object(
    {
      agents: Type.Array(ownerAgentSchema(naming)),
      next: nullable(Type.String({ description: 'pass it as `after` for the next page' })),
      counts: Type.Object(
        { active: Type.Integer(), suspended: Type.Integer(), revoked: Type.Integer() },
        { description: 'of all agents of the owner, whatever the filter' },
      ),
    },
    { description: 'Agents of the owner, in the order of `sort`' },
  )

export type OwnerAgents = Static<ReturnType<typeof ownerAgentsSchema>>

export const AGENT_ORDERS = ['newest', 'name', 'grade'] as const
export type AgentOrder = (typeof AGENT_ORDERS)[number]

/** Query of `GET /api/account/agents`. */
export const ownerAgentsQuerySchema = () =>
  Type.Object(
    {
      search: Type.Optional(
        Type.String({
          maxLength: 128,
          description: 'part of a name, a label, a description or a DID',
        }),
      ),
      status: Type.Optional(status()),
      grade: Type.Optional(grade()),
      responsible: Type.Optional(
        Type.String({
          pattern: `^(none|mb_${BASE58_CLASS}{12})$`,
          description:
            'only agents for which this member is responsible, by the id of the membership; none: nobody',
        }),
      ),
      enrolled: Type.Optional(
        Type.Enum(['only', 'exclude'], {
          type: 'string',
          description: 'only agents that workloads have enrolled, or none of them',
        }),
      ),
      sort: Type.Optional(
        Type.Enum([...AGENT_ORDERS], {
          type: 'string',
          description:
            'default: newest first; name: by displayed name; grade: the weakest first, revoked agents last',
        }),
      ),
      after: Type.Optional(Type.String({ pattern: '^\\d{1,15}$' })),
    },
    { additionalProperties: false },
  )

export type OwnerAgentsQuery = Static<ReturnType<typeof ownerAgentsQuerySchema>>

/** `PATCH /api/account/agents/{agent}`: null removes a value. */
export const agentPatchSchema = () =>
  Type.Object(
    {
      displayName: Type.Optional(nullable(displayName())),
      username: Type.Optional(nullable(username())),
      description: Type.Optional(
        nullable(
          Type.String({
            pattern: DESCRIPTION_PATTERN.source,
            description:
              'a text of at most 160 characters, without control characters (line breaks are allowed) and text direction overrides',
          }),
        ),
      ),
      responsible: Type.Optional(
        nullable({
          ...membershipId(),
          description:
            'the member who is responsible for the agent of an organisation; null: nobody',
        }),
      ),
    },
    { additionalProperties: false, minProperties: 1 },
  )

export type AgentPatch = Static<ReturnType<typeof agentPatchSchema>>

/** A machine-readable reason. */
const reason = () =>
  Type.String({
    pattern: '^[a-z][a-z0-9_-]{0,63}$',
    description: 'a reason code of lower-case letters, digits, _ and -, such as key_compromised',
  })

/** `POST /api/account/agents/{agent}/suspend`, `/reactivate` and `/revoke`. */
export const statusRequestSchema = () =>
  Type.Object({ reason: Type.Optional(nullable(reason())) }, { additionalProperties: false })

/** They change in one transaction, and other writers on all nodes wait for it. */
export const MAX_BULK_AGENTS = 200

/** `POST /api/account/agents/status` */
export const bulkStatusRequestSchema = (naming: Naming) =>
  Type.Object(
    {
      agents: Type.Array(did(naming), {
        minItems: 1,
        maxItems: MAX_BULK_AGENTS,
        uniqueItems: true,
      }),
      status: Type.Enum(['suspended', 'revoked'], { type: 'string' }),
      reason: Type.Optional(nullable(reason())),
    },
    { additionalProperties: false },
  )

export type BulkStatusRequest = Static<ReturnType<typeof bulkStatusRequestSchema>>

/** `POST /api/account/agents/status` */
export const bulkStatusSchema = (naming: Naming) =>
  Type.Object(
    {
      refused: Type.Array(
        Type.Object({
          [naming.didField]: did(naming),
          code: Type.String({ description: 'an error code, such as NOT_FOUND' }),
          message: Type.String(),
        }),
        { description: 'the agents that did not change; all others have the new status' },
      ),
    },
    { description: 'What became of a bulk change' },
  )

export type BulkStatus = Static<ReturnType<typeof bulkStatusSchema>>

/** `POST /api/account/agents/revoke-all`: the owner's username, repeated as confirmation. */
export const revokeAllRequestSchema = () =>
  Type.Object(
    { username: username(), reason: Type.Optional(nullable(reason())) },
    { additionalProperties: false },
  )

/** An event in a response. */
export const eventSchema = () =>
  Type.Object({
    seq: Type.Integer(),
    at: timestamp(),
    type: Type.String({ description: 'such as agent.suspended (docs/contract/events.md)' }),
    facts: openObject('the payload of the event, public data only'),
  })

/** An activity of an account in an export: like an event, but without a number. */
export const accountActivitySchema = () => Type.Omit(eventSchema(), ['seq'])

/** Query of `GET /api/account/agents/{agent}/history`. */
export const historyQuerySchema = () =>
  Type.Object(
    {
      before: Type.Optional(Type.String({ pattern: '^\\d{1,15}$' })),
      type: Type.Optional(
        Type.Literal('agent.delegation_changed', { description: 'only events of this type' }),
      ),
    },
    { additionalProperties: false },
  )

export type HistoryQuery = Static<ReturnType<typeof historyQuerySchema>>

/** `GET /api/account/agents/{agent}/history` */
export const historySchema = () =>
  Type.Object(
    {
      events: Type.Array(eventSchema()),
      next: nullable(Type.String({ description: 'pass it as `before` for the next page' })),
    },
    { description: 'What happened to the agent, newest first' },
  )

export type AgentHistory = Static<ReturnType<typeof historySchema>>

/** `POST /api/agents/token` (docs/contract/endpoints.md). */
export const issuedTokenSchema = (naming: Naming) =>
  Type.Object(
    {
      claimToken: Type.String({
        pattern: naming.tokenPattern.source,
        description: 'shown only once',
      }),
      expiresAt: timestamp(),
      expiresIn: Type.Integer({ description: 'seconds' }),
    },
    { description: 'A claim token' },
  )

export type IssuedToken = Static<ReturnType<typeof issuedTokenSchema>>

export const MAX_CLAIM_TOKENS = 100

/** Body of `POST /api/agents/tokens`. */
export const tokenBatchRequestSchema = () =>
  Type.Object(
    { count: Type.Integer({ minimum: 1, maximum: MAX_CLAIM_TOKENS }) },
    { additionalProperties: false },
  )

/** `POST /api/agents/tokens` (docs/contract/endpoints.md). */
export const issuedTokensSchema = (naming: Naming) =>
  Type.Object(
    {
      claimTokens: Type.Array(Type.String({ pattern: naming.tokenPattern.source }), {
        description: 'each is for one agent; shown only in this response',
      }),
      expiresAt: timestamp(),
      expiresIn: Type.Integer({ description: 'seconds' }),
    },
    { description: 'A batch of claim tokens' },
  )

export type IssuedTokens = Static<ReturnType<typeof issuedTokensSchema>>

const onboardingStep = (description: string) => Type.Boolean({ description })

/** `GET /api/account/onboarding` */
export const onboardingSchema = (naming: Naming) =>
  Type.Object(
    {
      verified: onboardingStep('the owner has, or had, an identity verification'),
      claimed: onboardingStep('an agent has a certificate'),
      named: onboardingStep('an agent that is not revoked has a display name'),
      channel: onboardingStep('an agent that is not revoked has a verified channel'),
      badge: onboardingStep('the owner has copied the code of a badge'),
      hidden: Type.Boolean({ description: 'the owner has hidden the checklist' }),
      agent: nullable(did(naming)),
    },
    { description: 'The first steps of an owner; `agent` is the one for the next step' },
  )

export type Onboarding = Static<ReturnType<typeof onboardingSchema>>

/** `PATCH /api/account/onboarding` */
export const onboardingPatchSchema = () =>
  Type.Object(
    { badge: Type.Optional(Type.Literal(true)), hidden: Type.Optional(Type.Boolean()) },
    { additionalProperties: false, minProperties: 1 },
  )

export type OnboardingPatch = Static<ReturnType<typeof onboardingPatchSchema>>
