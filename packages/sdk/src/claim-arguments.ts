import {
  AGENT_ID_PATTERN,
  type ClaimToken,
  isClaimToken,
  isRecoveryToken,
  type Naming,
  type RecoveryToken,
} from '@countersign/protocol'
import { CountersignError } from './errors.ts'

/** @throws CountersignError INVALID_ARGUMENT unless both can be sent */
export function assertClaim(
  naming: Naming,
  token: string,
  agentId: string,
): asserts token is ClaimToken {
  if (!isClaimToken(naming, token)) {
    throw new CountersignError(
      'INVALID_ARGUMENT',
      `A claim token of this service is ${naming.tokenPrefix} and 32 hexadecimal characters. An agent whose key has a certificate needs none: leave out the claim, or call whoami().`,
    )
  }
  if (!AGENT_ID_PATTERN.test(agentId)) {
    const message = 'An agentId is a label of 1 to 128 characters without control characters.'
    throw new CountersignError('INVALID_ARGUMENT', message)
  }
}

/** @throws CountersignError INVALID_ARGUMENT unless it can be sent */
export function assertRecoveryToken(naming: Naming, token: string): asserts token is RecoveryToken {
  if (isRecoveryToken(naming, token)) return
  throw new CountersignError(
    'INVALID_ARGUMENT',
    `A recovery token of this service is ${naming.recoveryTokenPrefix} and 32 hexadecimal characters.`,
  )
}
