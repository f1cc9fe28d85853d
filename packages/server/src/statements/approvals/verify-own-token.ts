import {
  type ApprovalTokenVerifier,
  InvalidTokenError,
  readApprovalToken,
  verifyApprovalToken,
} from '@countersign/protocol'
import type { Site } from '../../base/site.ts'
import type { IssuerKeys } from '../../secrets/issuer-keys/issuer-keys.ts'
import { verifyWithOwnKey } from '../../secrets/issuer-keys/verify-with-own-key.ts'

/** Verifies approval tokens of this service by the keys in memory. Whether one was used, sites record. */
export function ownApprovalVerifier({
  site,
  issuerKeys,
  now,
}: {
  readonly site: Site
  readonly issuerKeys: IssuerKeys
  readonly now: () => number
}): ApprovalTokenVerifier {
  return async (text) => {
    const { keys } = issuerKeys.keySet()
    const expected = { issuer: site.baseUrl, keys, now: now() / 1000 }
    try {
      const token = readApprovalToken(text, site.naming)
      await verifyApprovalToken(token, expected, verifyWithOwnKey)
      return token.claims
    } catch (error) {
      if (error instanceof InvalidTokenError) return 'approval-invalid'
      throw error
    }
  }
}
