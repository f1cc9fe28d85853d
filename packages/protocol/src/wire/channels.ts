import { type Static, Type } from 'typebox'
import { timestamp } from './formats.ts'
import { nullable } from './nullable.ts'

/** Channels of an owner's agents. Part of the dashboard's own API. */

const tier = () =>
  Type.Integer({
    minimum: 1,
    maximum: 2,
    description: '2: domain or agent-to-agent, 1: chat or runtime',
  })

export const PROVEN_BY = ['service', 'agent'] as const
/** `service`: the service checks the channel; `agent`: the agent proves it by answering a challenge. */
export type ProvenBy = (typeof PROVEN_BY)[number]

/** A kind of channel, with the texts of forms and pages. */
const channelKindSchema = () =>
  Type.Object({
    id: Type.String({ description: 'such as domain' }),
    label: Type.String(),
    tier: tier(),
    proves: Type.String({ description: 'what it proves, in a sentence for people' }),
    provenBy: Type.Enum([...PROVEN_BY], {
      type: 'string',
      description: 'service: the service checks the place; agent: the agent proves it',
    }),
    field: Type.Object(
      { label: Type.String(), placeholder: Type.String(), hint: Type.String() },
      { description: 'the input of the owner' },
    ),
  })

export type ChannelKindInWords = Static<ReturnType<typeof channelKindSchema>>

/** `GET /api/account/channel-kinds` */
export const channelKindsSchema = () =>
  Type.Object(
    { kinds: Type.Array(channelKindSchema()) },
    { description: 'The kinds of channel that can be proven here, the strongest first' },
  )

export type ChannelKinds = Static<ReturnType<typeof channelKindsSchema>>

/** A way to prove a channel: what to publish, and where. */
const proofMethodSchema = () =>
  Type.Object({
    id: Type.String({ description: 'such as dns' }),
    title: Type.String(),
    step: Type.String({ description: 'what to do, in a sentence' }),
    fields: Type.Array(
      Type.Object({
        label: Type.String(),
        value: Type.String({ description: 'text to copy unchanged' }),
        multiline: Type.Boolean(),
      }),
    ),
  })

export type ProofMethodInWords = Static<ReturnType<typeof proofMethodSchema>>

export const CHECK_OUTCOMES = ['proven', 'absent', 'unreachable'] as const
/** `absent`: there is no proof; `unreachable`: the check failed, which changes nothing. */
export type CheckOutcome = (typeof CHECK_OUTCOMES)[number]
const outcome = () =>
  Type.Enum([...CHECK_OUTCOMES], {
    type: 'string',
    description: 'absent: the place has no proof; unreachable: the place could not be checked',
  })

export const channelCheckSchema = () =>
  Type.Object({
    at: timestamp(),
    outcome: outcome(),
    perspectives: Type.Array(
      Type.Object({
        name: Type.String({ description: 'the resolver, or the host that responded' }),
        outcome: outcome(),
        detail: Type.String({ description: 'what the check found, in a sentence' }),
      }),
    ),
  })

export type ChannelCheck = Static<ReturnType<typeof channelCheckSchema>>

export const CHANNEL_STATES = ['pending', 'verified', 'stale'] as const
/** `pending`: never proven; `verified`: proven and fresh; `stale`: must be proven again to count. */
export type ChannelState = (typeof CHANNEL_STATES)[number]

/** A channel as its owner sees it. */
export const ownerChannelSchema = () =>
  Type.Object(
    {
      id: Type.String(),
      kind: Type.String(),
      label: Type.String({ description: 'the kind, in words' }),
      handleOrDomain: Type.String(),
      tier: tier(),
      link: nullable(Type.String({ description: 'where people find it' })),
      state: Type.Enum([...CHANNEL_STATES], {
        type: 'string',
        description:
          'pending: never proven; verified: counts for the grade; stale: no longer counts',
      }),
      createdAt: timestamp(),
      verifiedAt: nullable({
        ...timestamp(),
        description: 'when it was last proven with a new token',
      }),
      checkedAt: nullable({ ...timestamp(), description: 'when a check last found the proof' }),
      freshUntil: nullable({
        ...timestamp(),
        description: 'when the proof expires',
      }),
      staleSince: nullable(timestamp()),
      failingSince: nullable({
        ...timestamp(),
        description: 'when the proof was first missing',
      }),
      nextCheckAt: nullable(timestamp()),
      proof: nullable(
        Type.Object(
          { expiresAt: timestamp(), methods: Type.Array(proofMethodSchema()) },
          { description: 'what to publish to prove it; null without a current token' },
        ),
      ),
      checks: Type.Array(channelCheckSchema(), { description: 'the last ones, newest first' }),
    },
    { description: 'A channel of one of the owner’s agents' },
  )

export type OwnerChannel = Static<ReturnType<typeof ownerChannelSchema>>

/** A channel in an export: everything stored about it except tokens. */
export const exportedChannelSchema = () => {
  const { label: _label, link: _link, proof: _proof, ...held } = ownerChannelSchema().properties
  return Type.Object({
    ...held,
    method: nullable(Type.String({ description: 'the method that last proved it, such as dns' })),
    tokenExpiresAt: nullable({
      ...timestamp(),
      description: 'when the current token expires',
    }),
  })
}

/** `GET /api/account/agents/{agent}/channels` */
export const ownerChannelsSchema = () =>
  Type.Object(
    { channels: Type.Array(ownerChannelSchema()) },
    { description: 'The channels of an agent, the oldest first' },
  )

export type OwnerChannels = Static<ReturnType<typeof ownerChannelsSchema>>

/** `POST /api/account/agents/{agent}/channels` */
export const newChannelSchema = () =>
  Type.Object(
    {
      kind: Type.String({ maxLength: 32 }),
      handleOrDomain: Type.String({ minLength: 1, maxLength: 512 }),
    },
    { additionalProperties: false },
  )

export type NewChannel = Static<ReturnType<typeof newChannelSchema>>

/** `POST /api/account/agents/{agent}/channels/{channel}/countersign` */
export const countersignedCardSchema = () =>
  Type.Object(
    {
      card: Type.Object(
        {},
        {
          additionalProperties: true,
          description: 'the published agent card with the countersignature added to its signatures',
        },
      ),
      signature: Type.Object(
        {
          protected: Type.String({
            description: 'the JWS header (base64url): alg, typ, kid and jku, the URL of the key',
          }),
          signature: Type.String({ description: 'base64url' }),
        },
        { description: 'the countersignature (AgentCardSignature of A2A 1.0)' },
      ),
    },
    { description: 'A countersigned agent card' },
  )

export type CountersignedCard = Static<ReturnType<typeof countersignedCardSchema>>
