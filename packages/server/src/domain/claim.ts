import { createHash } from 'node:crypto'
import {
  type ClaimRequest,
  type ClaimToken,
  CodedError,
  claimMessage,
  type Did,
  decodeKey,
  decodeSignature,
  didOf,
  encodeBase64,
  isClaimToken,
  type Naming,
  randomTail,
} from '@countersign/protocol'
import { type Ed25519Verifier, isCertifiableKey } from '../adapters/ed25519.ts'
import { insertAgent, isHeldByAnother } from '../storage/agents.ts'
import { redeemToken, tokenByHash } from '../storage/claim-tokens.ts'
import type { ClaimTokenRow, Database, Tx } from '../storage/database.ts'
import { appendEvent } from '../storage/events.ts'
import type { Registry } from './read-model/registry.ts'
import { gradeAtClaim } from './regrade.ts'

export interface ClaimDeps {
  readonly db: Database
  readonly registry: Registry
  readonly ed25519: Ed25519Verifier
  readonly naming: Naming
  /** Whether two owners may hold live certificates of the same key. */
  readonly keyReuse: 'owner' | 'any'
  readonly now: () => number
  readonly randomBytes: (count: number) => Uint8Array
}

interface Claim {
  readonly token: ClaimToken
  readonly tokenHash: Uint8Array
  readonly agentId: string
  readonly publicKey: Uint8Array
  readonly signature: Uint8Array
}

/**
 * Redeems a claim token for a DID (contract 4.4). The checks come in this order, and only success burns the token.
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND or TOKEN_EXPIRED (token), INVALID_SIGNATURE, KEY_ALREADY_CLAIMED
 */
export async function claim(deps: ClaimDeps, request: ClaimRequest): Promise<Did> {
  const decoded = decodeClaim(deps, request)
  requireRedeemable(await tokenByHash(deps.db.read, decoded.tokenHash), deps.now())
  await requireSignature(deps, decoded)
  return deps.db.write((tx) => mint(deps, tx, decoded))
}

/** The hash under which a token is stored: a stolen database redeems nothing. */
export function hashOfToken(token: ClaimToken): Uint8Array {
  return createHash('sha256').update(token).digest()
}

function decodeClaim(deps: ClaimDeps, request: ClaimRequest): Claim {
  const { claimToken: token, agentId } = request
  const publicKey = decodeKey(request.publicKey)
  const signature = decodeSignature(request.signature)
  if (!isClaimToken(deps.naming, token) || publicKey === null || signature === null) {
    throw new CodedError('VALIDATION_ERROR', 'The claim is malformed.')
  }
  if (!deps.registry.hasSeenKey(publicKey) && !isCertifiableKey(publicKey)) {
    throw new CodedError(
      'VALIDATION_ERROR',
      'publicKey is not a sound Ed25519 key: not canonical, not on the curve, or not of the prime order.',
    )
  }
  return { token, tokenHash: hashOfToken(token), agentId, publicKey, signature }
}

function requireRedeemable(token: ClaimTokenRow | undefined, now: number): void {
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

async function requireSignature(deps: ClaimDeps, decoded: Claim): Promise<void> {
  const message = claimMessage(decoded.token, decoded.agentId)
  if (await deps.ed25519.verify(decoded.publicKey, message, decoded.signature)) return
  throw new CodedError(
    'INVALID_SIGNATURE',
    'The signature is not one of this key over the bytes claimToken|agentId.',
  )
}

/** The part that races: each statement decides for itself, and a refusal undoes the ones before it. */
async function mint(deps: ClaimDeps, tx: Tx, decoded: Claim): Promise<Did> {
  const { publicKey, agentId, tokenHash } = decoded
  const at = deps.now()
  const ownerId = await redeemToken(tx, tokenHash, at)
  if (ownerId === undefined) {
    requireRedeemable(await tokenByHash(tx.db, tokenHash), at)
    throw new CodedError('TOKEN_EXPIRED', 'This claim token can no longer be used.')
  }
  if (deps.keyReuse === 'owner' && (await isHeldByAnother(tx, publicKey, ownerId))) {
    throw new CodedError(
      'KEY_ALREADY_CLAIMED',
      'Another owner has a certificate of this key. It is free again once that one is revoked.',
    )
  }
  const seq = tx.nextSeq()
  const tail = randomTail(deps.randomBytes)
  const agent = {
    seq,
    tail,
    public_key: publicKey,
    agent_id: agentId,
    owner_id: ownerId,
    claimed_at: at,
    grade: await gradeAtClaim(tx.db, ownerId, at),
  }
  if (!(await insertAgent(tx, agent))) {
    throw new CodedError(
      'KEY_ALREADY_CLAIMED',
      'This key has a certificate under this agentId. Choose another agentId, or revoke that one.',
    )
  }
  await appendEvent(tx, {
    seq,
    at,
    type: 'agent.claimed',
    tail,
    ownerId,
    facts: { publicKey: encodeBase64(publicKey) },
  })
  return didOf(deps.naming, tail)
}
