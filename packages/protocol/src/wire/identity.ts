import { type Static, Type } from 'typebox'
import { ASSURANCES, type Assurance } from '../status.ts'
import { timestamp } from './formats.ts'
import { nullable } from './nullable.ts'
import { openObject } from './session.ts'

/** Identity verification. Part of the dashboard's own API. */

export const PROVIDER_KINDS = [
  'eid',
  'personhood',
  'kyc',
  'social',
  'in-person',
  'development',
] as const
export type ProviderKind = (typeof PROVIDER_KINDS)[number]

const assurance = () => Type.Enum([...ASSURANCES], { type: 'string' })
const grade = () => Type.Enum(['A', 'B', 'C', 'D', 'E'], { type: 'string' })

/** A provider as a card on the identity page. */
export const identityProviderSchema = () =>
  Type.Object({
    id: Type.String(),
    label: Type.String(),
    kind: Type.Enum([...PROVIDER_KINDS], { type: 'string' }),
    assurance: Type.Unsafe<Assurance | null>({
      enum: [...ASSURANCES, null],
      description: 'the assurance of a verification; null: it depends on the case',
    }),
    unique: Type.Boolean({ description: 'the same person cannot verify two accounts with it' }),
    verifiesName: Type.Boolean({
      description: 'it can report the verified name, which the owner may publish',
    }),
    proves: Type.String({ description: 'what it proves, in a sentence' }),
    validForDays: nullable(Type.Integer()),
    selfService: Type.Boolean({
      description: 'false: only the operator can verify with it',
    }),
  })

export type IdentityProviderCard = Static<ReturnType<typeof identityProviderSchema>>

/** The effect that removing a verification would have. */
const effect = () =>
  Type.Object({
    canClaim: Type.Boolean({ description: 'whether the owner can still create claim tokens' }),
    identityLevel: Type.String({
      description: 'the provider in lookups, or `unverified`',
    }),
    activeAgents: Type.Integer(),
    grades: Type.Array(Type.Object({ from: grade(), to: grade(), agents: Type.Integer() }), {
      description: 'which grades change, and for how many agents',
    }),
  })

export const verificationSchema = () =>
  Type.Object({
    provider: Type.String(),
    label: Type.String(),
    assurance: assurance(),
    verifiedAt: timestamp(),
    expiresAt: nullable(timestamp()),
    expired: Type.Boolean(),
    publishedName: nullable(
      Type.String({ description: 'the verified name, stored only if the owner publishes it' }),
    ),
    renewFrom: nullable({ ...timestamp(), description: 'when the owner is first asked to renew' }),
    ifRemoved: effect(),
  })

export type OwnerVerification = Static<ReturnType<typeof verificationSchema>>

/** `GET /api/identity` */
export const identitySchema = () =>
  Type.Object(
    {
      providers: Type.Array(identityProviderSchema()),
      verifications: Type.Array(verificationSchema()),
    },
    { description: 'The verifications of the owner, and the providers' },
  )

export type Identity = Static<ReturnType<typeof identitySchema>>

/** Request of `POST /api/identity/{provider}/begin`. */
export const beginVerificationSchema = () =>
  Type.Object(
    {
      publishName: Type.Optional(
        Type.Boolean({
          description: 'ask the provider for the verified name, and publish it; false by default',
        }),
      ),
    },
    { additionalProperties: false },
  )

/** `POST /api/identity/{provider}/begin`: redirect the browser, or pass `client` to the provider's script. */
export const verificationBegunSchema = () =>
  Type.Object({
    redirect: nullable(Type.String({ format: 'uri' })),
    client: Type.Unsafe<Record<string, unknown> | null>({
      type: ['object', 'null'],
      additionalProperties: true,
      description: "what the provider's own script needs",
    }),
  })

export type VerificationBegun = Static<ReturnType<typeof verificationBegunSchema>>

/** `POST /api/identity/{provider}/complete`: the unchanged result of the provider's script. */
export const verificationResultSchema = () =>
  Type.Object({ result: openObject('the result of the provider') }, { additionalProperties: false })
