import {
  type ClaimRequest,
  type ClaimToken,
  CodedError,
  claimMessage,
  type Did,
  decodeKey,
  decodeSignature,
  isClaimToken,
} from '@countersign/protocol'
import { hashToken } from '../../base/hash-token.ts'
import type { Database } from '../../database/database.ts'
import { type Ed25519Verifier, isCertifiableKey } from '../../secrets/ed25519.ts'
import type { AgentReadModel } from '../read-model/agent-read-model.ts'
import { type DecodedClaim, tokenByHash } from './claim-table.ts'
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
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND or TOKEN_EXPIRED (token), INVALID_SIGNATURE, KEY_ALREADY_CLAIMED
 */
export async function claim(deps: ClaimDeps, request: ClaimRequest): Promise<Did> {
  const decoded = decodeClaim(deps, request)
  const refusal = tokenRefusal(await tokenByHash(deps.db.read, decoded.tokenHash), deps.now())
  if (refusal !== null) throw refusal
  await assertSignature(deps, decoded)
  return deps.db.writeBatched(mintBatch, { deps, claim: decoded })
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
