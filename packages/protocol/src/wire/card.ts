import { type Static, Type } from 'typebox'
import type { Naming } from '../naming.ts'
import { did, status, tier, timestamp } from './formats.ts'
import { nullable } from './nullable.ts'

const ownerProfile = () => Type.Object({ displayName: Type.String(), username: Type.String() })

/** What is known about an owner's name. Not in the contract: an additive member of the full card. */
export const ownerNameSchema = () =>
  Type.Object(
    {
      selfDeclared: Type.Boolean({
        description: 'always true: owners choose their display name and username themselves',
      }),
      changedAt: nullable({
        ...timestamp(),
        description: 'when the display name or username last changed, for 90 days; else null',
      }),
      verified: nullable(
        Type.Object(
          {
            name: Type.String(),
            provider: Type.String(),
            label: Type.String(),
            verifiedAt: timestamp(),
          },
          { description: 'the name that an identity provider verified, if the owner publishes it' },
        ),
      ),
    },
    { description: 'what is known about the name of the owner; null with `owner`' },
  )

export type OwnerName = Static<ReturnType<typeof ownerNameSchema>>

/** Marks what rests on a provider for development. Absent otherwise. */
const developmentOnly = () =>
  Type.Optional(
    Type.Boolean({
      description:
        'true: the identity was verified by a provider for development, which accepts any name. Do not rely on it',
    }),
  )

/** The members of the full card (contract 2.4), which the agent object shares. */
export const cardMembers = (naming: Naming) => ({
  [naming.didField]: did(naming),
  displayName: Type.String(),
  username: nullable(Type.String()),
  description: Type.String({ maxLength: 160 }),
  avatarUrl: Type.String({ format: 'uri' }),
  status: status(),
  claimedAt: timestamp(),
  owner: nullable(ownerProfile()),
  verification: nullable(
    Type.Object({ provider: Type.String(), label: Type.String(), verifiedAt: timestamp() }),
  ),
  channels: Type.Array(Type.Object({ kind: Type.String(), handleOrDomain: Type.String() })),
  grade: Type.Enum(['A', 'B', 'C', 'D', 'E'], { type: 'string' }),
  tier: nullable(tier({ description: '2: domain or agent-to-agent, 1: chat or runtime' })),
  gradeIsFallback: Type.Boolean({ description: 'the strongest channel is of tier 1' }),
  certificateUrl: Type.String({ format: 'uri' }),
  // Optional, so that clients also read cards of services of older releases.
  ownerName: Type.Optional(nullable(ownerNameSchema())),
  developmentOnly: developmentOnly(),
  ownerKind: Type.Optional(
    Type.Literal('organisation', {
      description: 'the owner is an organisation; left out if it is a person',
    }),
  ),
})

/** Contract 2.4. */
export const cardSchema = (naming: Naming) =>
  Type.Object(cardMembers(naming), { description: 'The full card' })

export type Card = Static<ReturnType<typeof cardSchema>>

/** Contract 2.5. */
export const compactCardSchema = () =>
  Type.Object(
    {
      displayName: Type.String(),
      owner: ownerProfile(),
      verificationStatus: Type.Enum(['verified', 'claim', 'unverified'], { type: 'string' }),
      chatHandle: Type.String({ pattern: '^@' }),
      certificateUrl: Type.String({ format: 'uri' }),
      developmentOnly: developmentOnly(),
    },
    { description: 'The compact card' },
  )

export type CompactCard = Static<ReturnType<typeof compactCardSchema>>
