import { type Static, Type } from 'typebox'
import type { Naming } from '../naming.ts'
import { did, timestamp } from './formats.ts'
import { nullable } from './nullable.ts'
import { membershipId, roleSchema, TRANSFER_STATES } from './organisations.ts'

/** What an export says about organisations: `GET /api/account/export`. */

const membershipMembers = () => ({
  id: membershipId(),
  role: roleSchema(),
  roleSince: timestamp(),
  source: Type.Enum(['manual', 'sso'], { type: 'string' }),
  since: timestamp(),
  endedAt: nullable(timestamp()),
  endReason: nullable(Type.String()),
})

const actionMembers = () => ({
  operation: Type.String({ description: 'the operationId of the API' }),
  request: Type.String({ description: 'the id of the request' }),
  apiKey: nullable(Type.String({ description: 'the id of the API key that made the request' })),
  at: timestamp(),
})

/** A person's memberships, ended ones too. */
export const exportedMembershipsSchema = () =>
  Type.Array(
    Type.Object({
      ...membershipMembers(),
      organisation: Type.String({ description: 'the username of the organisation' }),
      actions: Type.Array(Type.Object(actionMembers()), {
        description: 'requests of the last 400 days that changed something, oldest first',
      }),
    }),
    { description: 'the organisations of which the person is or was a member' },
  )

export const exportedTransfersSchema = (naming: Naming) =>
  Type.Array(
    Type.Object({
      id: Type.String(),
      state: Type.Enum([...TRANSFER_STATES], { type: 'string' }),
      from: nullable(Type.String({ description: 'username; null: the account is deleted' })),
      to: nullable(Type.String({ description: 'username; null: the account is deleted' })),
      agents: Type.Array(did(naming)),
      startedBy: nullable(membershipId()),
      acceptedBy: nullable(membershipId()),
      failure: nullable(Type.String({ description: 'the code of the error' })),
      createdAt: timestamp(),
      expiresAt: timestamp(),
      acceptedAt: nullable(timestamp()),
      effectiveAt: nullable(timestamp()),
      endedAt: nullable(timestamp()),
    }),
    { description: 'transfers that the owner sent or received, oldest first' },
  )

/** What only organisations have. */
export const exportedOrganisationSchema = () =>
  nullable(
    Type.Object(
      {
        id: Type.String({ description: 'org_ and 12 base58 characters' }),
        members: Type.Array(
          Type.Object({
            ...membershipMembers(),
            displayName: nullable(Type.String({ description: 'null: the account is deleted' })),
          }),
          { description: 'oldest first, also those who left' },
        ),
        invitations: Type.Array(
          Type.Object({
            id: Type.String(),
            email: nullable(Type.String()),
            username: nullable(Type.String()),
            role: roleSchema(),
            invitedBy: membershipId(),
            createdAt: timestamp(),
            expiresAt: timestamp(),
          }),
        ),
        suspendWithoutResponsibleAfterDays: nullable(Type.Integer()),
        domain: nullable(
          Type.Object({
            domain: Type.String(),
            token: Type.String({ description: 'to be published' }),
            tokenExpiresAt: timestamp(),
            provenAt: nullable(timestamp()),
          }),
        ),
        sso: nullable(
          Type.Object({
            id: Type.String(),
            issuer: Type.String(),
            clientId: Type.String(),
            hasSecret: Type.Boolean(),
            groupClaim: Type.String(),
            roleMap: Type.Record(Type.String(), Type.String()),
            subjectClaim: Type.String(),
            createdAt: timestamp(),
            updatedAt: timestamp(),
          }),
        ),
        scimTokens: Type.Array(
          Type.Object({
            id: Type.String(),
            createdBy: membershipId(),
            createdAt: timestamp(),
            expiresAt: timestamp(),
            lastUsedAt: nullable(timestamp()),
          }),
        ),
        scimUsers: Type.Array(
          Type.Object({
            id: Type.String(),
            externalId: nullable(Type.String()),
            userName: Type.String(),
            displayName: nullable(Type.String()),
            active: Type.Boolean(),
            hasSignedIn: Type.Boolean(),
            createdAt: timestamp(),
            updatedAt: timestamp(),
          }),
        ),
        actions: Type.Array(Type.Object({ member: membershipId(), ...actionMembers() }), {
          description: 'requests of members in the last 400 days that changed something',
        }),
      },
      { description: 'null: the owner is a person' },
    ),
  )

export type ExportedOrganisation = NonNullable<
  Static<ReturnType<typeof exportedOrganisationSchema>>
>
export type ExportedMemberships = Static<ReturnType<typeof exportedMembershipsSchema>>
export type ExportedTransfers = Static<ReturnType<typeof exportedTransfersSchema>>
