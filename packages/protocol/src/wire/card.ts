import { type Static, Type } from 'typebox'
import type { Naming } from '../naming.ts'
import { did, status, tier, timestamp } from './formats.ts'
import { nullable } from './nullable.ts'

const ownerProfile = () => Type.Object({ displayName: Type.String(), username: Type.String() })

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
    },
    { description: 'The compact card' },
  )

export type CompactCard = Static<ReturnType<typeof compactCardSchema>>
