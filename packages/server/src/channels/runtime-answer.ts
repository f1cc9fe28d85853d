import {
  CodedError,
  challengeMessage,
  decodeSignature,
  type Grade,
  type RuntimeAnswer,
  type RuntimeChallenge,
  type RuntimeProof,
  type Tail,
} from '@countersign/protocol'
import { agentByTail } from '../agents/agent-table.ts'
import { findAgent } from '../agents/find-agent.ts'
import type { AgentReadModel } from '../agents/read-model/agent-read-model.ts'
import type { Ed25519Verifier } from '../core/crypto/ed25519.ts'
import type { ChannelRow, Tx } from '../core/database/database.ts'
import type { CoreDeps } from '../core/deps.ts'
import { didOfAgent } from '../core/site.ts'
import { timestamp } from '../core/timestamp.ts'
import { channelsOfAgent } from './channel-table.ts'
import { runtime } from './kinds/runtime.ts'
import { recordCheck } from './record-check.ts'
import { newRuntimeChallenge, nonceOfOurs, requireGoodNonce } from './runtime-challenge.ts'
import { type AfterCheck, afterCheck, isCounting } from './schedule.ts'

/** What the runtime channel works on. */
export interface RuntimeDeps
  extends Pick<CoreDeps, 'db' | 'site' | 'pepper' | 'now' | 'randomBytes'> {
  readonly readModel: AgentReadModel
  readonly ed25519: Ed25519Verifier
}

/** Answers closer together than this are one: each that moves the dates is an event. */
const APART_MS = 24 * 3_600_000

/** No address is kept: that the agent answered is what counts, not from where. */
const ANSWERED = {
  outcome: 'proven',
  perspectives: [
    {
      name: 'the agent',
      outcome: 'proven',
      detail: 'It answered our challenge with its certified key.',
    },
  ],
} as const

/**
 * A challenge for an agent to prove that it runs. Anyone may ask for one: only the agent can answer it.
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND, FORBIDDEN for a revoked one
 */
export async function challengeRuntime(
  deps: RuntimeDeps,
  reference: string,
): Promise<RuntimeChallenge> {
  const { agent } = await findAgent(deps, reference)
  requireNotRevoked(agent.status)
  return newRuntimeChallenge(deps, didOfAgent(deps.site, agent.tail))
}

/**
 * The agent's answer: its runtime channel counts from now on, for 30 days. The challenge is good until its time is over, so
 * that an answer whose response was lost can be sent again. What the owner has begun is told to the agent alone.
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND, TOKEN_EXPIRED, INVALID_SIGNATURE, FORBIDDEN
 */
export async function answerRuntime(
  deps: RuntimeDeps,
  reference: string,
  { challenge, signature }: RuntimeAnswer,
): Promise<RuntimeProof> {
  const nonce = nonceOfOurs(deps, challenge)
  const signed = decodeSignature(signature)
  if (signed === null) throw new CodedError('VALIDATION_ERROR', 'The signature is malformed.')
  const { agent } = await findAgent(deps, reference)
  const { tail, publicKey } = agent
  const did = didOfAgent(deps.site, tail)
  requireGoodNonce(deps, did, nonce)
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
  requireNotRevoked(agent?.status)
  if (agent === undefined || channel === undefined) {
    throw new CodedError(
      'NOT_FOUND',
      'This agent has no runtime channel: its owner adds one on the dashboard first.',
    )
  }
  requireBegun(channel, at)
  const after = afterAnswer(channel, at)
  await recordCheck(tx, { agent, channel, after, look: ANSWERED, at, isMereName: true })
  const { grade = agent.grade } = (await agentByTail(tx.db, tail)) ?? {}
  return { channel: { ...channel, ...after.patch }, grade }
}

/** What an owner began and the agent did not answer in time is over; once it was proven, an answer is enough. */
function requireBegun({ verified_at, proof_expires_at }: ChannelRow, at: number): void {
  if (verified_at !== null || (proof_expires_at !== null && proof_expires_at > at)) return
  throw new CodedError(
    'TOKEN_EXPIRED',
    'The time to prove this channel for the first time is over: its owner renews it on the dashboard first.',
  )
}

/** Within a day only the date of the last check moves, unless the owner has asked for a fresh proof. */
function afterAnswer(channel: ChannelRow, at: number): AfterCheck {
  const { verified_at, proof_token } = channel
  const recent = isCounting(channel, at) && at - (verified_at ?? 0) < APART_MS
  const again = recent && proof_token === null
  const result = { outcome: 'proven', token: again ? 'known' : 'fresh', method: 'answer' } as const
  return afterCheck(channel, result, runtime.freshForMs, at)
}

function requireNotRevoked(status: string | undefined): void {
  if (status !== 'revoked') return
  throw new CodedError('FORBIDDEN', 'This agent is revoked: it proves nothing any more.')
}
