import { CodedError, type RawRequest, type SignatureReason, type Tail } from '@countersign/protocol'
import { didOfAgent } from '../../base/site.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { databaseNonceStore } from './used-nonces.ts'
import type { VerifyDeps } from './verify-challenge.ts'
import { verifyOwnRequest } from './verify-signed-request.ts'

/**
 * Asserts that an agent itself has signed a request to this service.
 * @param tooMany the message if the agent has used too many nonces
 * @returns the thumbprint of the key that signed
 * @throws CodedError UNAUTHENTICATED or INVALID_SIGNATURE; FORBIDDEN if another agent or a delegate signed it; AGENT_NOT_ACTIVE;
 *   RATE_LIMITED; UNAVAILABLE; StorageFailure
 */
export async function assertOwnRequest(
  deps: VerifyDeps & Pick<CoreDeps, 'db'>,
  tail: Tail,
  received: RawRequest,
  tooMany: string,
): Promise<string> {
  const nonces = databaseNonceStore(deps.db, deps.now)
  const { verdict, reason, did, keyid } = await verifyOwnRequest(deps, received, nonces)
  if (verdict !== 'verified') throw signatureError(reason as SignatureReason, tooMany)
  if (did === didOfAgent(deps.site, tail) && keyid !== null) return keyid
  throw new CodedError('FORBIDDEN', 'Another agent has signed this request. Name its own DID.')
}

function signatureError(reason: SignatureReason, tooMany: string): CodedError {
  if (reason === 'unsigned') {
    return new CodedError(
      'UNAUTHENTICATED',
      'Sign this request with the key of the agent (HTTP Message Signatures).',
    )
  }
  if (reason === 'delegation-refused') {
    return new CodedError('FORBIDDEN', 'A delegated key cannot do this. Ask the agent.')
  }
  if (reason === 'suspended' || reason === 'revoked') {
    return new CodedError(
      'AGENT_NOT_ACTIVE',
      `This agent is ${reason}. Only active agents can do this.`,
    )
  }
  if (reason === 'too-many-requests') {
    return new CodedError('RATE_LIMITED', tooMany, { retryAfterSeconds: 30 })
  }
  if (reason === 'replay-unchecked') {
    const message = 'Whether the nonce was used before cannot be determined now.'
    return new CodedError('UNAVAILABLE', message, { retryAfterSeconds: 1 })
  }
  return new CodedError(
    'INVALID_SIGNATURE',
    `The signature of this request was not accepted (${reason}).`,
  )
}
