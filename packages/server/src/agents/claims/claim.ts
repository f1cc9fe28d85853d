import {
  type ClaimRequest,
  type ClaimToken,
  CodedError,
  claimMessage,
  type Did,
  decodeKey,
  decodeSignature,
  didOf,
  isClaimToken,
  type Tail,
} from '@countersign/protocol'
import { hashToken } from '../../base/hash-token.ts'
import type { Database } from '../../database/database.ts'
import { type Ed25519Verifier, isCertifiableKey } from '../../secrets/ed25519.ts'
import { keyUseOf, keyUseRefusal } from '../keys/key-use.ts'
import type { AgentReadModel } from '../read-model/agent-read-model.ts'
import { agentOfPair, type DecodedClaim, tokenByHash } from './claim-table.ts'
import { type MintDeps, mintBatch, tokenRefusal } from './mint.ts'

export interface ClaimDeps extends MintDeps {
  readonly db: Database
  readonly readModel: AgentReadModel
  readonly ed25519: Ed25519Verifier
}

interface Claim extends DecodedClaim {
  readonly token: ClaimToken
}

/**
 * Redeems a claim token for a DID (contract 4.4). The errors are listed in the order of the checks. A failed claim leaves the
 * token usable.
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND or TOKEN_EXPIRED (token), INVALID_SIGNATURE, KEY_ALREADY_CLAIMED. TOKEN_EXPIRED and
 *   KEY_ALREADY_CLAIMED have a `location` if the key has this certificate already
 */
export async function claim(deps: ClaimDeps, request: ClaimRequest): Promise<Did> {
  const decoded = decodeClaim(deps, request)
  try {
    return await redeem(deps, decoded)
  } catch (error) {
    throw error instanceof CodedError ? await withExisting(deps, decoded, error) : error
  }
}

async function redeem(deps: ClaimDeps, decoded: Claim): Promise<Did> {
  const refusal = tokenRefusal(await tokenByHash(deps.db.read, decoded.tokenHash), deps.now())
  if (refusal !== null) throw refusal
  await assertSignature(deps, decoded)
  return deps.db.writeBatched(mintBatch, { deps, claim: decoded })
}

/**
 * Adds to a refusal where the certificate is that was asked for, if the key has it under this label: an agent that starts again
 * claims again. Only the holder of the key learns it, and only with a token of the same owner: a token of another one must fail,
 * and so must a key that is burned, suspended or held by others as well.
 */
async function withExisting(
  deps: ClaimDeps,
  decoded: Claim,
  error: CodedError,
): Promise<CodedError> {
  const { db, ed25519, naming, now, keyReuse } = deps
  const { code, message } = error
  if (code !== 'KEY_ALREADY_CLAIMED' && code !== 'TOKEN_EXPIRED') return error
  const { publicKey, agentId, signature, tokenHash } = decoded
  const signed = claimMessage(decoded.token, agentId)
  if (!(await ed25519.verify(publicKey, signed, signature))) return error
  const token = await tokenByHash(db.read, tokenHash)
  const agent = await agentOfPair(db.read, publicKey, agentId)
  if (token === undefined || agent === undefined) return error
  const { owner_id: ownerId } = token
  const use = await keyUseOf(db.read, { publicKey, agentId, ownerId }, null, now())
  const otherwise = keyUseRefusal(keyReuse, { ...use, isPairTaken: false })
  if (agent.owner_id !== ownerId || otherwise !== null) return error
  const location = `/api/agents/${didOf(naming, agent.tail as Tail)}`
  return new CodedError(code, message, { location })
}

function decodeClaim(deps: ClaimDeps, request: ClaimRequest): Claim {
  const { claimToken: token, agentId } = request
  const publicKey = decodeKey(request.publicKey)
  const signature = decodeSignature(request.signature)
  if (!isClaimToken(deps.naming, token) || publicKey === null || signature === null) {
    throw new CodedError('VALIDATION_ERROR', 'The claim is malformed.')
  }
  if (!deps.readModel.hasSeenKey(publicKey) && !isCertifiableKey(publicKey)) {
    throw new CodedError(
      'VALIDATION_ERROR',
      'publicKey is not a valid Ed25519 key: not canonical, not on the curve, or not of the prime order.',
    )
  }
  return { token, tokenHash: hashToken(token), agentId, publicKey, signature }
}

async function assertSignature(deps: ClaimDeps, decoded: Claim): Promise<void> {
  const message = claimMessage(decoded.token, decoded.agentId)
  if (await deps.ed25519.verify(decoded.publicKey, message, decoded.signature)) return
  throw new CodedError(
    'INVALID_SIGNATURE',
    'The signature does not verify with publicKey over the bytes claimToken|agentId.',
  )
}
