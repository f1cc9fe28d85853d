import { type Static, Type } from 'typebox'
import { BASE58_CLASS } from '../base58.ts'
import type { Naming } from '../naming.ts'
import { did, timestamp } from './formats.ts'
import { username } from './names.ts'
import { nullable } from './nullable.ts'
import { TRANSFER_STATES } from './organisations.ts'

/** Transfers: agents move to another owner. Part of the owners' API (docs/organisations.md). */

/** Agents of one transfer. */
export const MAX_TRANSFER_AGENTS = 200
/** Open transfers that an owner may have sent. */
export const MAX_SENT_TRANSFERS = 10
/** Open transfers that an owner may have received. */
export const MAX_RECEIVED_TRANSFERS = 20
/** How long a transfer can be accepted. */
export const TRANSFER_LIFETIME_MS = 7 * 86_400_000

/** `POST /api/account/transfers` */
export const newTransferSchema = (naming: Naming) =>
  Type.Object(
    {
      agents: Type.Array(did(naming), {
        minItems: 1,
        maxItems: MAX_TRANSFER_AGENTS,
        uniqueItems: true,
      }),
      to: username(),
    },
    { additionalProperties: false },
  )

export type NewTransfer = Static<ReturnType<typeof newTransferSchema>>

const id = () =>
  Type.String({
    pattern: `^tr_${BASE58_CLASS}{12}$`,
    description: 'tr_ and 12 base58 characters',
  })

const state = () =>
  Type.Enum([...TRANSFER_STATES], {
    type: 'string',
    description:
      'offered: waits to be accepted; accepted: takes effect at effectiveAt; done, or why it never took effect',
  })

const effectiveAt = () =>
  nullable({
    ...timestamp(),
    description: 'when the agents move or have moved; null: not accepted',
  })

export const startedTransferSchema = () =>
  Type.Object({
    id: id(),
    state: state(),
    agents: Type.Integer({ description: 'the number of agents' }),
    to: username(),
    effectiveAt: effectiveAt(),
  })

export type StartedTransfer = Static<ReturnType<typeof startedTransferSchema>>

const party = (description: string) => nullable(Type.String({ description }))

/** A transfer as its sender and its receiver see it. */
export const transferSchema = (naming: Naming) =>
  Type.Object({
    id: id(),
    direction: Type.Enum(['sent', 'received'], { type: 'string' }),
    state: state(),
    from: party('the username of the sender; null: the account was deleted'),
    to: party('the username of the receiver; null: the account was deleted'),
    agents: Type.Integer({ description: 'the number of agents' }),
    dids: Type.Array(did(naming), {
      description: 'the agents; empty once the account of one owner was deleted',
    }),
    failure: nullable(
      Type.String({ description: 'the error code, if the state is failed, such as CONFLICT' }),
    ),
    createdAt: timestamp(),
    expiresAt: { ...timestamp(), description: 'until when it can be accepted' },
    effectiveAt: effectiveAt(),
    endedAt: nullable(timestamp()),
  })

export type Transfer = Static<ReturnType<typeof transferSchema>>

/** `GET /api/account/transfers` */
export const transfersSchema = (naming: Naming) =>
  Type.Object(
    { transfers: Type.Array(transferSchema(naming)) },
    { description: 'All open transfers and the newest 50 others, newest first' },
  )

export type Transfers = Static<ReturnType<typeof transfersSchema>>
