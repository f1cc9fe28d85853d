import {
  CodedError,
  type JsonValue,
  RENOUNCED_BY_AGENT,
  type Renounced,
  type RenounceRequest,
} from '@countersign/protocol'
import { didOfAgent } from '../../base/site.ts'
import { timestamp } from '../../base/timestamp.ts'
import type { AgentRow, Tx } from '../../database/database.ts'
import { revokeAgent } from '../changes/set-status.ts'
import { tailOf } from '../find-agent.ts'
import { isCompromised } from './key-table.ts'
import {
  assertRecent,
  assertSigned,
  decodeSigned,
  type KeyOperationDeps,
  requireAgent,
} from './signed-operation.ts'

type RenounceDeps = Pick<KeyOperationDeps, 'db' | 'site' | 'now' | 'ed25519'>

/**
 * Revokes an agent at the request of the holder of its key, so that an agent that was tricked into a stranger's claim can
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
  const { db, site, now } = deps
  const tail = tailOf(site.naming, reference)
  const signed = decodeSigned(signature)
  assertRecent(issuedAt, now())
  const { public_key: publicKey } = await requireAgent(db.read, tail)
  const did = didOfAgent(site, tail)
  const target = { service: site.baseUrl, did, sequence, oldKey: publicKey, newKey: null, issuedAt }
  const whose = 'this agent’s current key'
  await assertSigned(
    deps,
    { operation: 'renounce', ...target },
    { key: publicKey, signature: signed, whose },
  )
  const agent = await db.write(async (tx) => {
    const evidence = { service: site.baseUrl, sequence, issuedAt, signature }
    const revocation = { sequence, publicKey, evidence, at: now() }
    await revokeRenounced(tx, await requireAgent(tx.db, tail), revocation)
    return requireAgent(tx.db, tail)
  })
  return {
    [site.naming.didField]: did,
    status: agent.status,
    statusReason: agent.status_reason,
    statusChangedAt: timestamp(agent.status_changed_at),
  }
}

async function revokeRenounced(
  tx: Tx,
  agent: AgentRow,
  signed: {
    readonly sequence: number
    readonly publicKey: Uint8Array
    readonly evidence: JsonValue
    readonly at: number
  },
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
  const { evidence } = signed
  await revokeAgent(tx, agent, { reason: RENOUNCED_BY_AGENT, setBy: 'agent', evidence }, signed.at)
}
