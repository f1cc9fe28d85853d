import { IssuerClient } from './issuer-client.ts'
import {
  type ServiceApprovalOptions,
  type VerifiedApproval,
  verifyApprovalBy,
} from './verify-approval.ts'
import {
  type ServiceCertificateOptions,
  type VerifiedCertificate,
  verifyCertificateBy,
} from './verify-certificate.ts'

/** Described at the methods of `Registry`. */
export interface ServiceTokens {
  verifyCertificate(
    token: string,
    options?: ServiceCertificateOptions,
  ): Promise<VerifiedCertificate>
  verifyApproval(token: string, options?: ServiceApprovalOptions): Promise<VerifiedApproval>
}

/** Verifies the tokens of one service, by its keys and status lists. */
export function serviceTokens(service: string, fetch: typeof globalThis.fetch): ServiceTokens {
  const client = new IssuerClient(fetch, service)
  return {
    verifyCertificate: (token, { issuer = service, maxAgeSeconds, now } = {}) =>
      verifyCertificateBy(client, token, { issuers: [issuer], now }, maxAgeSeconds),
    verifyApproval: (token, { issuer = service, now } = {}) =>
      verifyApprovalBy(client, token, { issuers: [issuer], now }),
  }
}
