import { type Static, Type } from 'typebox'
import { BASE58_CLASS } from '../base58.ts'
import { MAX_MATCHES } from '../enrolment/match.ts'
import { MAX_PLATFORM_TOKEN_LENGTH, TOKEN_CHECKS } from '../enrolment/platform-token.ts'
import type { Naming } from '../naming.ts'
import { AGENT_ID_PATTERN, DESCRIPTION_PATTERN } from '../text.ts'
import { did, issuedAt, publicKey, signature, status, timestamp } from './formats.ts'
import { displayName } from './names.ts'
import { nullable } from './nullable.ts'
import { membershipId } from './organisations.ts'
import { responsibleSchema } from './responsible.ts'
import { openObject } from './session.ts'

/** Enrolment: workloads get a certificate by the token of their platform (docs/enrolment.md). */

/** Rules that an owner may have. */
export const MAX_ENROLMENT_RULES = 20
/** Agents of all rules of an owner that are not revoked. */
export const MAX_ENROLLED_AGENTS = 2000

const ruleId = () =>
  Type.String({
    pattern: `^er_${BASE58_CLASS}{22}$`,
    description: 'the id of an enrolment rule: er_ and 22 base58 characters',
  })

const url = (description: string) => Type.String({ minLength: 1, maxLength: 512, description })

/** Where the keys of an issuer come from. */
const keysSchema = () =>
  Type.Object(
    {
      discovery: Type.Optional(
        Type.Literal(true, { description: 'by OpenID Connect Discovery at the issuer' }),
      ),
      jwksUri: Type.Optional(url('https; also a SPIFFE bundle endpoint with Web PKI')),
      jwks: Type.Optional(openObject('a JWK Set of public keys, for issuers that are not public')),
    },
    {
      additionalProperties: false,
      minProperties: 1,
      maxProperties: 1,
      description: 'exactly one of discovery, jwksUri and jwks',
    },
  )

export type EnrolmentKeys = Static<ReturnType<typeof keysSchema>>

const matchSchema = () =>
  Type.Record(
    Type.String({ maxLength: 256 }),
    Type.Union([
      Type.String({ maxLength: 512 }),
      Type.Boolean(),
      Type.Array(Type.String({ maxLength: 512 }), { minItems: 1, maxItems: MAX_MATCHES }),
    ]),
    {
      minProperties: 1,
      maxProperties: MAX_MATCHES,
      description:
        'claims that the token must have, by JSON Pointer: a string, a boolean, or several strings of which one must be equal',
    },
  )

const profileSchema = () =>
  Type.Object(
    {
      displayName: nullable(displayName()),
      description: nullable(
        Type.String({ pattern: DESCRIPTION_PATTERN.source, description: 'at most 160 characters' }),
      ),
    },
    { additionalProperties: false, description: 'of each new agent' },
  )

const bindingSchema = () =>
  Type.Enum(['key', 'token'], {
    type: 'string',
    description:
      'key: the audience of the token names the key, so a stolen token is useless; token: the first key that uses a token keeps it',
  })

/** The members that can change, with their bounds. */
const changeable = () => ({
  name: displayName(),
  keys: keysSchema(),
  match: matchSchema(),
  maxLive: Type.Integer({
    minimum: 1,
    maximum: 1000,
    description: 'how many agents of the rule there may be at once',
  }),
  unseenAfterSeconds: Type.Integer({
    minimum: 3600,
    maximum: 2_592_000,
    description: 'after how long without an enrolment an agent ends',
  }),
  maxTokenSeconds: Type.Integer({
    minimum: 300,
    maximum: 86_400,
    description: 'the longest lifetime of a token',
  }),
  profile: profileSchema(),
})

const fixed = () => ({
  issuer: nullable(url('the issuer of the tokens, compared exactly with iss')),
  trustDomain: nullable(
    Type.String({
      pattern: '^[a-z0-9._-]{1,255}$',
      description: 'a SPIFFE trust domain: JWT-SVIDs are accepted',
    }),
  ),
  binding: bindingSchema(),
  agentId: nullable(
    Type.String({ pattern: AGENT_ID_PATTERN.source, description: 'the label of each agent' }),
  ),
  agentIdClaim: nullable(
    Type.String({ maxLength: 256, description: 'the JSON Pointer of the claim that is the label' }),
  ),
})

/** The values of what a new rule leaves out. */
export const ENROLMENT_DEFAULTS = {
  maxLive: 100,
  unseenAfterSeconds: 86_400,
  maxTokenSeconds: 3600,
} as const

/** `POST /api/account/enrolment/rules` */
export const newEnrolmentRuleSchema = () => {
  const { name, keys, match, maxLive, unseenAfterSeconds, maxTokenSeconds, profile } = changeable()
  const { issuer, trustDomain, binding, agentId, agentIdClaim } = fixed()
  return Type.Object(
    {
      name,
      issuer: Type.Optional(issuer),
      trustDomain: Type.Optional(trustDomain),
      keys,
      match,
      binding,
      agentId: Type.Optional(agentId),
      agentIdClaim: Type.Optional(agentIdClaim),
      maxLive: Type.Optional(maxLive),
      unseenAfterSeconds: Type.Optional(unseenAfterSeconds),
      maxTokenSeconds: Type.Optional(maxTokenSeconds),
      profile: Type.Optional(profile),
    },
    { additionalProperties: false },
  )
}

export type NewEnrolmentRule = Static<ReturnType<typeof newEnrolmentRuleSchema>>

/** `PATCH /api/account/enrolment/rules/{id}` */
export const enrolmentRulePatchSchema = () =>
  Type.Partial(
    Type.Object({
      ...changeable(),
      responsible: {
        ...membershipId(),
        description: 'the member of an organisation who is responsible for new agents of the rule',
      },
    }),
    { additionalProperties: false, minProperties: 1 },
  )

export type EnrolmentRulePatch = Static<ReturnType<typeof enrolmentRulePatchSchema>>

/** An enrolment rule as its owner sees it. */
export const enrolmentRuleSchema = () =>
  Type.Object(
    {
      id: ruleId(),
      ...fixed(),
      ...changeable(),
      audience: Type.String({ description: 'the audience of tokens for this rule' }),
      state: Type.Enum(['active', 'paused'], { type: 'string' }),
      live: Type.Integer({ description: 'agents of the rule that are not revoked' }),
      responsible: nullable(responsibleSchema()),
      createdAt: timestamp(),
      admitsUntil: {
        ...timestamp(),
        description:
          'when the rule admits nobody any more, unless it enrols somebody or is resumed before',
      },
      lastEnrolledAt: nullable({
        ...timestamp(),
        description: 'when an agent was last enrolled or renewed',
      }),
      lastRefusal: nullable(
        Type.Object({
          at: timestamp(),
          check: Type.String({ description: 'the check that refused, such as claim' }),
        }),
      ),
      keysReadAt: nullable({ ...timestamp(), description: 'when the keys were last read' }),
      keysProblem: nullable(
        Type.String({ description: 'why they cannot be read now; null: they can' }),
      ),
    },
    { description: 'An enrolment rule' },
  )

export type EnrolmentRule = Static<ReturnType<typeof enrolmentRuleSchema>>

/** `GET /api/account/enrolment/rules` */
export const enrolmentRulesSchema = () =>
  Type.Object(
    { rules: Type.Array(enrolmentRuleSchema(), { maxItems: MAX_ENROLMENT_RULES }) },
    { description: 'Enrolment rules, newest first' },
  )

export type EnrolmentRules = Static<ReturnType<typeof enrolmentRulesSchema>>

/** `POST /api/account/enrolment/rules/{id}/end` */
export const endingRuleSchema = () =>
  Type.Object({
    ending: Type.Integer({ description: 'agents that are being revoked' }),
  })

const platformToken = () =>
  Type.String({
    minLength: 1,
    maxLength: MAX_PLATFORM_TOKEN_LENGTH,
    description: 'the token of the platform: a JWT in compact form',
  })

/** `POST /api/account/enrolment/rules/{id}/test` */
export const enrolmentTestRequestSchema = () =>
  Type.Object({ token: platformToken() }, { additionalProperties: false })

export const enrolmentTestSchema = () =>
  Type.Object(
    {
      checks: Type.Array(
        Type.Object({
          check: Type.Enum([...TOKEN_CHECKS], { type: 'string' }),
          ok: nullable(Type.Boolean({ description: 'null: not reached' })),
          detail: Type.String(),
        }),
      ),
      claims: Type.Unsafe<Record<string, unknown> | null>({
        type: ['object', 'null'],
        additionalProperties: true,
        description: 'the claims of the token; null: they cannot be read',
      }),
    },
    { description: 'What each check says of a token, which is not stored' },
  )

export type EnrolmentTest = Static<ReturnType<typeof enrolmentTestSchema>>

/** `POST /api/v1/enrol` */
export const enrolRequestSchema = () =>
  Type.Object(
    {
      rule: ruleId(),
      token: platformToken(),
      publicKey: publicKey(),
      issuedAt: issuedAt(),
      signature: signature(),
    },
    { additionalProperties: false },
  )

export type EnrolRequest = Static<ReturnType<typeof enrolRequestSchema>>

export const enrolResponseSchema = (naming: Naming) =>
  Type.Object(
    {
      success: Type.Literal(true),
      message: Type.String(),
      [naming.didField]: did(naming),
      agentId: Type.String({ description: 'the label of the agent' }),
      renewed: Type.Boolean({ description: 'false: the agent is new' }),
      renewAfter: Type.String({ format: 'date-time', description: 'when to enrol again' }),
      endsAt: Type.String({
        format: 'date-time',
        description: 'when the agent ends, unless it enrols again',
      }),
    },
    { description: 'The agent of the workload' },
  )

export type EnrolResponse = Static<ReturnType<typeof enrolResponseSchema>>

/** `POST /api/v1/agent/{did}/enrolment/end` */
export const endEnrolmentRequestSchema = () =>
  Type.Object({ issuedAt: issuedAt(), signature: signature() }, { additionalProperties: false })

export type EndEnrolmentRequest = Static<ReturnType<typeof endEnrolmentRequestSchema>>

export const endedEnrolmentSchema = (naming: Naming) =>
  Type.Object(
    {
      [naming.didField]: did(naming),
      status: status(),
      statusReason: nullable(Type.String()),
    },
    { description: 'The agent has ended' },
  )

export type EndedEnrolment = Static<ReturnType<typeof endedEnrolmentSchema>>

/** The enrolment of an agent, for its owner. */
export const agentEnrolmentSchema = () =>
  Type.Object(
    {
      rule: Type.Object({ id: ruleId(), name: Type.String() }),
      claims: openObject('issuer, subject and the claims that were matched'),
      seenAt: { ...timestamp(), description: 'when it was last enrolled' },
      endsAt: {
        ...timestamp(),
        description: 'when it ends unless it enrols again, or when it ended',
      },
    },
    { description: 'the rule by which a workload enrolled the agent; null: no workload did' },
  )

/** The enrolment rules in an export, deleted ones too. */
export const exportedEnrolmentRulesSchema = () =>
  Type.Array(
    Type.Object({
      ...enrolmentRuleSchema().properties,
      state: Type.Enum(['active', 'paused', 'deleted'], { type: 'string' }),
    }),
    { description: 'enrolment rules, oldest first' },
  )
