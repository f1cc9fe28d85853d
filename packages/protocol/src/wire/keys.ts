import { type Static, Type } from 'typebox'
import type { Naming } from '../naming.ts'
import {
  did,
  issuedAt,
  keySequence,
  keyThumbprint,
  publicKey,
  signature,
  timestamp,
} from './formats.ts'
import { nullable } from './nullable.ts'

const NEW_SEQUENCE = 'the number of the new key: keySequence of the agent object plus 1'

/** `POST /api/v1/agent/{agent}/keys` */
export const rotateRequestSchema = () =>
  Type.Object(
    {
      newPublicKey: publicKey(),
      sequence: keySequence(NEW_SEQUENCE),
      issuedAt: issuedAt(),
      oldSignature: signature(),
      newSignature: signature(),
    },
    { additionalProperties: false },
  )

export type RotateRequest = Static<ReturnType<typeof rotateRequestSchema>>

/** The agent after its key was replaced. */
export const rotatedSchema = (naming: Naming) =>
  Type.Object(
    {
      [naming.didField]: did(naming),
      keySequence: keySequence('the number of the current key'),
      keyChangedAt: timestamp(),
    },
    { description: 'The new key is the current one' },
  )

export type Rotated = Static<ReturnType<typeof rotatedSchema>>

/** `POST /api/v1/agent/{agent}/recover` */
export const recoverRequestSchema = (naming: Naming) =>
  Type.Object(
    {
      recoveryToken: Type.String({
        pattern: naming.recoveryTokenPattern.source,
        description: `a recovery token: ${naming.recoveryTokenPrefix} and 32 lower-case hexadecimal characters`,
      }),
      publicKey: publicKey(),
      sequence: keySequence(NEW_SEQUENCE),
      issuedAt: issuedAt(),
      signature: signature(),
    },
    { additionalProperties: false },
  )

export type RecoverRequest = Static<ReturnType<typeof recoverRequestSchema>>

/** The redeemed recovery. */
export const recoverResponseSchema = (naming: Naming) =>
  Type.Object(
    {
      [naming.didField]: did(naming),
      keySequence: keySequence('the number that the new key has once it is the current one'),
      effectiveAt: timestamp(),
    },
    { description: 'The new key becomes the current one at `effectiveAt`' },
  )

export type RecoverResponse = Static<ReturnType<typeof recoverResponseSchema>>

/** `POST /api/v1/agent/{agent}/recovery/veto` */
export const vetoRequestSchema = () =>
  Type.Object(
    {
      sequence: keySequence('the number of the current key: keySequence of the agent object'),
      issuedAt: issuedAt(),
      signature: signature(),
    },
    { additionalProperties: false },
  )

export type VetoRequest = Static<ReturnType<typeof vetoRequestSchema>>

/** The agent after its key has vetoed a recovery. */
export const vetoedSchema = (naming: Naming) =>
  Type.Object(
    {
      [naming.didField]: did(naming),
      keySequence: keySequence('the number of the current key'),
    },
    { description: 'The recovery has ended, and the current key stays' },
  )

export type Vetoed = Static<ReturnType<typeof vetoedSchema>>

/** Why an owner recovers a key. */
export const RECOVERY_REASONS = ['key_lost', 'key_compromised'] as const
export type RecoveryReason = (typeof RECOVERY_REASONS)[number]

/** Why an owner contests a rotation. */
export const CONTEST_REASONS = ['key_compromised', 'mistake'] as const
export type ContestReason = (typeof CONTEST_REASONS)[number]

/**
 * The state of a key of an agent. `retired`: it was replaced. `renounced`: it was replaced after it had renounced the agent, so
 * that other owners can claim it. `compromised`: it was reported, for every agent that has it. `lost`: the service lost it in a
 * restore and knows its thumbprint only.
 */
export const KEY_STATES = ['current', 'retired', 'renounced', 'compromised', 'lost'] as const
/** How a key became the current one. */
export const KEY_CHANGES = ['claim', 'rotation', 'recovery', 'contest'] as const
export type KeyChange = (typeof KEY_CHANGES)[number]

const recoveryReason = () =>
  Type.Enum([...RECOVERY_REASONS], {
    type: 'string',
    description:
      'key_lost: the old key works until the new one takes effect, and can veto; key_compromised: the key is burned at once',
  })

/** A pending recovery of a key. */
export const keyRecovery = () =>
  Type.Object(
    {
      reason: recoveryReason(),
      startedAt: timestamp(),
      redeemedAt: nullable(timestamp()),
      effectiveAt: nullable(
        Type.String({ format: 'date-time', description: 'null: no agent has redeemed it yet' }),
      ),
      keyThumbprint: nullable(keyThumbprint('of the new key; null: none yet')),
    },
    { description: 'A recovery that has not taken effect' },
  )

/** What follows from the current key having renounced the agent. */
export const keyRenouncing = () =>
  Type.Object(
    {
      finalAt: Type.String({
        format: 'date-time',
        description:
          'when the agent is revoked; if a recovery was redeemed before, when that ends without a new key',
      }),
    },
    { description: 'The current key has renounced the agent' },
  )

/** A key that an agent has or had. */
export const agentKey = () =>
  Type.Object({
    sequence: keySequence('the number of the key among the keys of the agent'),
    keyThumbprint: keyThumbprint(),
    from: timestamp(),
    until: nullable(timestamp()),
    state: Type.Enum([...KEY_STATES], { type: 'string' }),
    changedBy: Type.Enum([...KEY_CHANGES], {
      type: 'string',
      description: 'how it became the current key',
    }),
  })

/** `GET /api/v1/agent/{agent}/keys` */
export const agentKeysSchema = (naming: Naming) =>
  Type.Object(
    {
      [naming.didField]: did(naming),
      keySequence: keySequence('the number of the current key'),
      keyChangedAt: timestamp(),
      keys: Type.Array(agentKey(), { description: 'oldest first' }),
      recovery: Type.Unsafe<Static<ReturnType<typeof keyRecovery>> | null>({
        ...keyRecovery(),
        type: ['object', 'null'],
      }),
      renouncing: Type.Unsafe<Static<ReturnType<typeof keyRenouncing>> | null>({
        ...keyRenouncing(),
        type: ['object', 'null'],
      }),
    },
    { description: 'The keys of the agent' },
  )

export type AgentKeys = Static<ReturnType<typeof agentKeysSchema>>

/** `POST /api/account/agents/{agent}/keys/contest` */
export const contestRequestSchema = () =>
  Type.Object(
    {
      sequence: keySequence('the number of the last good key; every later one is burned'),
      reason: Type.Enum([...CONTEST_REASONS], {
        type: 'string',
        description:
          'key_compromised: that key is burned too, and the agent suspended until it is recovered; mistake: that key becomes the current one again',
      }),
    },
    { additionalProperties: false },
  )

export type ContestRequest = Static<ReturnType<typeof contestRequestSchema>>

/** `POST /api/v1/agent/{agent}/keys/compromised` */
export const keyReportSchema = () =>
  Type.Object(
    {
      sequence: keySequence('the number of the key that signs, current or former'),
      issuedAt: issuedAt(),
      signature: signature(),
    },
    { additionalProperties: false },
  )

export type KeyReport = Static<ReturnType<typeof keyReportSchema>>

/** `POST /api/account/agents/{agent}/keys/compromised` */
export const ownKeyReportSchema = () =>
  Type.Object(
    { sequence: keySequence('the number of the key, current or former') },
    { additionalProperties: false },
  )

/** `POST /api/account/agents/{agent}/recovery` */
export const startRecoveryRequestSchema = () =>
  Type.Object({ reason: recoveryReason() }, { additionalProperties: false })

/** A recovery token for the owner. */
export const recoveryTokenSchema = (naming: Naming) =>
  Type.Object(
    {
      recoveryToken: Type.String({
        pattern: naming.recoveryTokenPattern.source,
        description: 'shown only in this response',
      }),
      expiresAt: timestamp(),
      expiresIn: Type.Integer({ description: 'seconds' }),
    },
    { description: 'A recovery token, which the agent redeems with its new key' },
  )

export type IssuedRecoveryToken = Static<ReturnType<typeof recoveryTokenSchema>>
