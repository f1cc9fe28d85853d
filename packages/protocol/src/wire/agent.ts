import { type Static, Type } from 'typebox'
import type { Naming } from '../naming.ts'
import { cardMembers } from './card.ts'
import { maxDelegationDepth } from './delegation.ts'
import { publicKey, timestamp } from './formats.ts'
import { nullable } from './nullable.ts'

/** Contract 4.7 without a special Accept header: the card, the key and links. */
export const agentObjectSchema = (naming: Naming) =>
  Type.Object(
    {
      ...cardMembers(naming),
      publicKey: publicKey(),
      keyThumbprint: Type.String({ description: 'RFC 7638, SHA-256, base64url' }),
      keySequence: Type.Integer({
        minimum: 1,
        description: 'the number of the key among the keys of the agent, from 1; it only grows',
      }),
      keyChangedAt: timestamp(),
      didWeb: Type.String({ pattern: '^did:web:' }),
      identityLevel: Type.String({ description: 'identity provider, or `unverified`' }),
      statusChangedAt: timestamp(),
      statusReason: nullable(Type.String()),
      updatedAt: timestamp(),
      maxDelegationDepth: maxDelegationDepth(),
      ownerChangedAt: Type.Optional({
        ...timestamp(),
        description: 'when the agent last moved to another owner; left out if it never did',
      }),
      links: Type.Object({
        self: Type.String({ format: 'uri' }),
        lookup: Type.String({ format: 'uri' }),
        card: Type.String({ format: 'uri' }),
        compactCard: Type.String({ format: 'uri' }),
        didDocument: Type.String({ format: 'uri' }),
        certificate: Type.String({ format: 'uri' }),
      }),
    },
    { description: 'The agent object' },
  )

export type AgentObject = Static<ReturnType<typeof agentObjectSchema>>
