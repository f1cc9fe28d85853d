import {
  CodedError,
  type Did,
  didOf,
  encodeBase64,
  type Naming,
  randomTail,
} from '@countersign/protocol'
import { gradeAtClaim } from '../agents/regrade.ts'
import type { ClaimTokenRow, Tx } from '../core/database/database.ts'
import { appendEvent, type NewEvent } from '../core/database/event-table.ts'
import {
  insertAgent,
  isHeldByAnother,
  type NewAgent,
  redeemToken,
  tokenByHash,
} from './claim-table.ts'

export interface MintDeps {
  readonly naming: Naming
  /** Whether two owners may hold live certificates of the same key. */
  readonly keyReuse: 'owner' | 'any'
  readonly now: () => number
  readonly randomBytes: (count: number) => Uint8Array
}

/** A claim whose signature has been verified. */
export interface DecodedClaim {
  readonly tokenHash: Uint8Array
  readonly agentId: string
  readonly publicKey: Uint8Array
}

/**
 * Mints a DID in a transaction: each statement decides for itself, and a refusal undoes the ones before it.
 * @throws CodedError NOT_FOUND, TOKEN_EXPIRED, KEY_ALREADY_CLAIMED
 */
export async function mint(deps: MintDeps, tx: Tx, decoded: DecodedClaim): Promise<Did> {
  const { publicKey, agentId, tokenHash } = decoded
  const at = deps.now()
  const ownerId = await redeemToken(tx, tokenHash, at)
  if (ownerId === undefined) {
    requireRedeemable(await tokenByHash(tx.db, tokenHash), at)
    throw new CodedError('TOKEN_EXPIRED', 'This claim token can no longer be used.')
  }
  if (deps.keyReuse === 'owner' && (await isHeldByAnother(tx, publicKey, ownerId))) {
    throw heldByAnother()
  }
  const seq = tx.nextSeq()
  const tail = randomTail(deps.randomBytes)
  const grade = await gradeAtClaim(tx.db, ownerId, at)
  const agent = {
    ...{ seq, tail, public_key: publicKey, agent_id: agentId },
    ...{ owner_id: ownerId, claimed_at: at, grade },
  }
  if (!(await insertAgent(tx, agent))) {
    throw pairTaken()
  }
  await appendEvent(tx, claimedEvent(agent))
  return didOf(deps.naming, tail)
}

/** @throws CodedError NOT_FOUND, TOKEN_EXPIRED */
export function requireRedeemable(token: ClaimTokenRow | undefined, now: number): void {
  if (token === undefined) {
    throw new CodedError('NOT_FOUND', 'This claim token was never issued.')
  }
  if (token.used_at !== null) {
    throw new CodedError('TOKEN_EXPIRED', 'This claim token has been used.')
  }
  if (token.superseded_at !== null) {
    throw new CodedError('TOKEN_EXPIRED', 'This claim token was replaced by a newer one.')
  }
  if (token.expires_at <= now) {
    throw new CodedError(
      'TOKEN_EXPIRED',
      'This claim token has expired: it was good for 10 minutes.',
    )
  }
}

export function heldByAnother(): CodedError {
  return new CodedError(
    'KEY_ALREADY_CLAIMED',
    'Another owner has a certificate of this key. It is free again once that one is revoked.',
  )
}

export function pairTaken(): CodedError {
  return new CodedError(
    'KEY_ALREADY_CLAIMED',
    'This key has a certificate under this agentId. Choose another agentId, or revoke that one.',
  )
}

export function claimedEvent(agent: NewAgent): NewEvent {
  const { seq, claimed_at: at, tail, owner_id: ownerId, public_key: key } = agent
  const payload = { publicKey: encodeBase64(key) }
  return { seq, at, type: 'agent.claimed', tail, ownerId, payload }
}
