import { type Static, Type } from 'typebox'
import { MAX_HOPS } from '../delegation/format.ts'
import type { Naming } from '../naming.ts'
import { did, issuedAt, keySequence, signature, timestamp } from './formats.ts'
import { displayName } from './names.ts'
import { nullable } from './nullable.ts'

/** How many hops a chain of an agent may have. */
export const maxDelegationDepth = () =>
  Type.Integer({
    minimum: 0,
    maximum: MAX_HOPS,
    description: 'how many hops a chain of the agent may have; 0: it may not delegate',
  })

/** `POST /api/v1/agent/{agent}/delegation/end` */
export const endDelegationsRequestSchema = () =>
  Type.Object(
    {
      sequence: keySequence('the number of the current key: keySequence of the agent object'),
      issuedAt: issuedAt(),
      signature: signature(),
    },
    { additionalProperties: false },
  )

export type EndDelegationsRequest = Static<ReturnType<typeof endDelegationsRequestSchema>>

const endedAt = () =>
  nullable({
    ...timestamp(),
    description:
      'every chain under a certificate from before this time is refused; null: the agent may not delegate, so nothing ended',
  })

/** The answer to an agent that has ended all delegations. */
export const delegationsEndedSchema = (naming: Naming) =>
  Type.Object(
    { [naming.didField]: did(naming), endedAt: endedAt() },
    { description: 'The delegations of the agent have ended' },
  )

export type DelegationsEnded = Static<ReturnType<typeof delegationsEndedSchema>>

/** `POST /api/account/agents/{agent}/delegation/end` */
export const ownDelegationsEndedSchema = () =>
  Type.Object({ endedAt: endedAt() }, { description: 'The delegations of the agent have ended' })

export type OwnDelegationsEnded = Static<ReturnType<typeof ownDelegationsEndedSchema>>

/** `PUT /api/account/agents/{agent}/delegation` */
export const delegationRequestSchema = () =>
  Type.Object({ maxDepth: maxDelegationDepth() }, { additionalProperties: false })

/** What an owner allows an agent. */
export const delegationPermissionSchema = () =>
  Type.Object(
    {
      maxDepth: maxDelegationDepth(),
      changedAt: nullable({
        ...timestamp(),
        description: 'the time of this change; null: it was the same before',
      }),
    },
    { description: 'How far the agent may delegate' },
  )

export type DelegationPermission = Static<ReturnType<typeof delegationPermissionSchema>>

/** How many groups of delegations an agent may have at the same time. */
export const MAX_DELEGATION_GROUPS = 100

const groupId = () => Type.String({ description: 'of the group: random' })

/** `POST /api/v1/agent/{agent}/delegations` */
export const newDelegationGroupSchema = () =>
  Type.Object({ label: displayName() }, { additionalProperties: false })

export type NewDelegationGroup = Static<ReturnType<typeof newDelegationGroupSchema>>

export const delegationGroupSchema = () =>
  Type.Object(
    {
      id: groupId(),
      certificate: Type.String({
        description: 'a certificate of the agent with a status of its own, a JWT: delegate with it',
      }),
      expiresAt: { ...timestamp(), description: 'when the certificate expires' },
    },
    { description: 'A group of delegations, which ends without the others' },
  )

export type DelegationGroup = Static<ReturnType<typeof delegationGroupSchema>>

/** `POST /api/v1/agent/{agent}/delegations/{id}/end`, and the owner's. */
export const delegationGroupEndedSchema = () =>
  Type.Object(
    {
      id: groupId(),
      endedAt: {
        ...timestamp(),
        description: 'when the group ended: every chain under its certificate is refused',
      },
    },
    { description: 'The group of delegations has ended' },
  )

export type DelegationGroupEnded = Static<ReturnType<typeof delegationGroupEndedSchema>>

/** `GET /api/account/agents/{agent}/delegations` */
export const ownDelegationGroupsSchema = () =>
  Type.Object(
    {
      delegations: Type.Array(
        Type.Object({
          id: groupId(),
          label: Type.String({ description: 'as the agent has set it; never published' }),
          createdAt: timestamp(),
          expiresAt: timestamp(),
        }),
        { description: 'those that have neither ended nor expired, newest first' },
      ),
    },
    { description: 'The groups of delegations of an agent' },
  )

export type OwnDelegationGroups = Static<ReturnType<typeof ownDelegationGroupsSchema>>

/** A group as the export of an account has it. */
export const exportedDelegationGroupSchema = () =>
  Type.Object({
    id: groupId(),
    label: Type.String(),
    createdAt: timestamp(),
    expiresAt: timestamp(),
    endedAt: nullable(timestamp()),
  })
