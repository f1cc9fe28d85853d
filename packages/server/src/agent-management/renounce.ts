import {
  CodedError,
  decodeSignature,
  KEY_OPERATION_TOLERANCE_SECONDS,
  RENOUNCED_BY_AGENT,
  type Renounced,
  type RenounceRequest,
  renounceMessage,
  type Tail,
} from '@countersign/protocol'
import { isCompromised } from '../agents/agent-key-table.ts'
import { agentByTail } from '../agents/agent-table.ts'
import { tailOf } from '../agents/require-own-agent.ts'
import type { Ed25519Verifier } from '../core/crypto/ed25519.ts'
import type { AgentRow, Db, Tx } from '../core/database/database.ts'
import type { CoreDeps } from '../core/deps.ts'
import { didOfAgent } from '../core/site.ts'
import { timestamp } from '../core/timestamp.ts'
import { revokeAgent } from './write-status.ts'

export interface RenounceDeps extends Pick<CoreDeps, 'db' | 'site' | 'now'> {
  readonly ed25519: Ed25519Verifier
}

/**
 * Revokes an agent at the request of whoever holds its key, so that an agent that was tricked into a stranger's claim can
 * leave. The key is not burned. If the agent is revoked already, nothing changes: a retry after a lost response succeeds.
 * @param reference the agent's DID or its tail
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND, INVALID_SIGNATURE; CONFLICT if `sequence` is not that of the current key;
 *   FORBIDDEN if the key was reported as compromised, because a thief must not end the owner's DID
 */
export async function renounce(
  deps: RenounceDeps,
  reference: string,
  { sequence, issuedAt, signature }: RenounceRequest,
): Promise<Renounced> {
  const { db, site, ed25519, now } = deps
  const tail = tailOf(site.naming, reference)
  const signed = decodeSignature(signature)
  if (signed === null) throw new CodedError('VALIDATION_ERROR', 'The signature is malformed.')
  assertRecent(issuedAt, now())
  const { public_key: publicKey } = await requireAgent(db.read, tail)
  const did = didOfAgent(site, tail)
  const service = site.baseUrl
  const message = renounceMessage(site.naming, { service, did, sequence, publicKey, issuedAt })
  if (!(await ed25519.verify(publicKey, message, signed))) {
    throw new CodedError(
      'INVALID_SIGNATURE',
      `The signature is not one of this agent’s current key over the renunciation of ${did} at ${service}.`,
    )
  }
  const agent = await db.write(async (tx) => {
    await revokeRenounced(tx, await requireAgent(tx.db, tail), { sequence, publicKey, at: now() })
    return requireAgent(tx.db, tail)
  })
  return {
    [site.naming.didField]: did,
    status: agent.status,
    statusReason: agent.status_reason,
    statusChangedAt: timestamp(agent.status_changed_at),
  }
}

function assertRecent(issuedAt: number, now: number): void {
  if (Math.abs(now / 1000 - issuedAt) <= KEY_OPERATION_TOLERANCE_SECONDS) return
  throw new CodedError(
    'VALIDATION_ERROR',
    `issuedAt is more than 5 minutes off: the time of this service is ${Math.floor(now / 1000)}.`,
  )
}

async function requireAgent(db: Db, tail: Tail): Promise<AgentRow> {
  const agent = await agentByTail(db, tail)
  if (agent !== undefined) return agent
  throw new CodedError('NOT_FOUND', 'There is no agent with this DID.')
}

async function revokeRenounced(
  tx: Tx,
  agent: AgentRow,
  signed: { readonly sequence: number; readonly publicKey: Uint8Array; readonly at: number },
): Promise<void> {
  const { key_sequence: current } = agent
  // The key may have changed since the signature was verified.
  const isCurrent = Buffer.compare(agent.public_key, signed.publicKey) === 0
  if (!isCurrent || current !== signed.sequence) {
    throw new CodedError('CONFLICT', `The current key of this agent has the sequence ${current}.`)
  }
  if (agent.status === 'revoked') return
  if (await isCompromised(tx.db, agent.public_key)) {
    throw new CodedError(
      'FORBIDDEN',
      'This key was reported as compromised: it cannot end a certificate.',
    )
  }
  await revokeAgent(tx, agent, { reason: RENOUNCED_BY_AGENT, setBy: 'agent' }, signed.at)
}
