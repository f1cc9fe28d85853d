import {
  CodedError,
  challengeMessage,
  type Did,
  decodeSignature,
  type Grade,
  type RuntimeAnswer,
  type RuntimeChallenge,
  type RuntimeProof,
  type Tail,
} from '@countersign/protocol'
import { agentByTail } from '../agents/agent-table.ts'
import { findAgent } from '../agents/find-agent.ts'
import { isCompromised } from '../agents/keys/key-table.ts'
import type { AgentReadModel } from '../agents/read-model/agent-read-model.ts'
import {
  type BoundChallengeDeps,
  type ChallengePurpose,
  expiryOfNonce,
  newBoundChallenge,
  parseBoundNonce,
} from '../agents/verification/bound-challenge.ts'
import { didOfAgent } from '../base/site.ts'
import { timestamp } from '../base/timestamp.ts'
import type { ChannelRow, Tx } from '../database/database.ts'
import type { CoreDeps } from '../secrets/core-deps.ts'
import type { Ed25519Verifier } from '../secrets/ed25519.ts'
import { ANSWER, recordCheck } from './channel-lifecycle.ts'
import { applyCheckResult, type CheckEffect, isVerified } from './channel-state.ts'
import { channelsOfAgent } from './channel-table.ts'
import { runtime } from './kinds/runtime.ts'

/** What the rules on the runtime channel depend on. */
export interface RuntimeDeps
  extends Pick<CoreDeps, 'db' | 'site' | 'pepper' | 'now' | 'randomBytes'> {
  readonly readModel: AgentReadModel
  readonly ed25519: Ed25519Verifier
}

/** Answers closer together than this renew nothing, so that an agent cannot flood the events. */
const MIN_RENEWAL_INTERVAL_MS = 24 * 3_600_000

/** What is recorded of every answer. The agent's address is not stored. */
const ANSWERED = {
  outcome: 'proven',
  perspectives: [
    {
      name: 'the agent',
      outcome: 'proven',
      detail: 'It signed the challenge with its certified key.',
    },
  ],
} as const

/**
 * Creates a challenge by which an agent proves that it runs. Anyone may request one, because only the agent can answer it.
 * @param reference the agent's DID, tail or key
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND, FORBIDDEN if the agent is revoked
 */
export async function challengeRuntime(
  deps: RuntimeDeps,
  reference: string,
): Promise<RuntimeChallenge> {
  const { agent } = await findAgent(deps, reference)
  assertNotRevoked(agent.status)
  return newRuntimeChallenge(deps, didOfAgent(deps.site, agent.tail))
}

/**
 * Verifies an agent's answer and renews its runtime channel for 30 days. A challenge can be answered again until it expires,
 * so that an agent can retry after a lost response. The signature is verified first, because whether the owner has added the
 * channel is not public.
 * @param reference the agent's DID, tail or key
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND, TOKEN_EXPIRED, INVALID_SIGNATURE, FORBIDDEN
 */
export async function answerRuntime(
  deps: RuntimeDeps,
  reference: string,
  { challenge, signature }: RuntimeAnswer,
): Promise<RuntimeProof> {
  const nonce = parseNonce(deps, challenge)
  const signed = decodeSignature(signature)
  if (signed === null) throw new CodedError('VALIDATION_ERROR', 'The signature is malformed.')
  const { agent } = await findAgent(deps, reference)
  const { tail, publicKey } = agent
  const did = didOfAgent(deps.site, tail)
  assertValidNonce(deps, did, nonce)
  if (!(await deps.ed25519.verify(publicKey, challengeMessage(challenge), signed))) {
    throw new CodedError(
      'INVALID_SIGNATURE',
      'The signature is not one of this agent’s key over the UTF-8 bytes of the challenge.',
    )
  }
  const { channel, grade } = await deps.db.write((tx) => recordAnswer(tx, tail, deps.now()))
  return {
    [deps.site.naming.didField]: did,
    kind: channel.kind,
    handleOrDomain: channel.handle_or_domain,
    verifiedAt: timestamp(channel.verified_at as number),
    checkedAt: timestamp(channel.checked_at as number),
    freshUntil: timestamp(channel.fresh_until as number),
    grade,
  }
}

async function recordAnswer(
  tx: Tx,
  tail: Tail,
  at: number,
): Promise<{ channel: ChannelRow; grade: Grade }> {
  const agent = await agentByTail(tx.db, tail)
  const channels = await channelsOfAgent(tx.db, tail)
  const channel = channels.find(({ kind }) => kind === runtime.id)
  assertNotRevoked(agent?.status)
  if (agent !== undefined && (await isCompromised(tx.db, agent.public_key))) {
    throw new CodedError(
      'FORBIDDEN',
      'This key was reported as compromised. It no longer proves anything.',
    )
  }
  if (agent === undefined || channel === undefined) {
    throw new CodedError(
      'NOT_FOUND',
      'This agent has no runtime channel. Ask the owner to add one on the dashboard.',
    )
  }
  assertProofPending(channel, at)
  const effect = effectOfAnswer(channel, at)
  await recordCheck(tx, {
    agent,
    channel,
    effect,
    observation: ANSWERED,
    at,
    isSelfDeclared: true,
  })
  const { grade = agent.grade } = (await agentByTail(tx.db, tail)) ?? {}
  return { channel: { ...channel, ...effect.patch }, grade }
}

/** The first proof must come before the owner's token expires; later ones need only an answer. */
function assertProofPending({ verified_at, proof_expires_at }: ChannelRow, at: number): void {
  if (verified_at !== null || (proof_expires_at !== null && proof_expires_at > at)) return
  throw new CodedError(
    'TOKEN_EXPIRED',
    'The token of this channel has expired. Ask the owner to renew it on the dashboard.',
  )
}

/** An answer within a day of the last renewal only updates the date of the last check, unless the owner has requested a fresh proof. */
function effectOfAnswer(channel: ChannelRow, at: number): CheckEffect {
  const { verified_at, proof_token } = channel
  const isRecent = isVerified(channel, at) && at - (verified_at ?? 0) < MIN_RENEWAL_INTERVAL_MS
  const isRepeated = isRecent && proof_token === null
  const result = {
    outcome: 'proven',
    token: isRepeated ? 'known' : 'fresh',
    method: ANSWER,
  } as const
  return applyCheckResult(channel, result, runtime.freshForMs, at)
}

function assertNotRevoked(status: string | undefined): void {
  if (status !== 'revoked') return
  throw new CodedError('FORBIDDEN', 'This agent is revoked. It can no longer prove a channel.')
}

/** What challenges are made from. */
type RuntimeChallengeDeps = BoundChallengeDeps

const PURPOSE: ChallengePurpose = { name: 'runtime challenge', lifetimeMs: 5 * 60_000 }

/** Creates a challenge for one agent. */
function newRuntimeChallenge(deps: RuntimeChallengeDeps, did: Did): RuntimeChallenge {
  const { challenge, expiresAt } = newBoundChallenge(deps, PURPOSE, did)
  return { challenge, expiresAt: timestamp(expiresAt) }
}

/**
 * Parses a challenge of this service. It is cheap, so it runs before any lookup.
 * @returns the nonce's 54 bytes, not yet authenticated
 * @throws CodedError VALIDATION_ERROR if the challenge does not have this service's form
 */
function parseNonce({ site }: Pick<RuntimeChallengeDeps, 'site'>, text: string): Buffer {
  const nonce = parseBoundNonce(site, text)
  if (nonce !== null) return nonce
  throw new CodedError(
    'VALIDATION_ERROR',
    `This is not a challenge of this service. Challenges begin with ${site.naming.challengePrefix}${site.baseUrl}: and come from POST …/runtime/challenge.`,
  )
}

/**
 * Asserts that this service made a nonce for this agent and that it has not expired.
 * @throws CodedError VALIDATION_ERROR, TOKEN_EXPIRED
 */
function assertValidNonce(deps: RuntimeChallengeDeps, did: Did, nonce: Buffer): void {
  const expiresAt = expiryOfNonce(deps, PURPOSE, did, nonce)
  if (expiresAt === null) {
    throw new CodedError('VALIDATION_ERROR', 'This challenge is for another agent.')
  }
  if (expiresAt <= deps.now()) {
    throw new CodedError(
      'TOKEN_EXPIRED',
      'This challenge has expired after 5 minutes. Request a new one.',
    )
  }
}
