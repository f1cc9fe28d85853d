import { IssuerClient } from './issuer-client.ts'
import {
  type ServiceCertificateOptions,
  type VerifiedCertificate,
  verifyCertificateBy,
} from './verify-certificate.ts'

/** Described at `Registry.verifyCertificate`. */
export type VerifyServiceCertificate = (
  token: string,
  options: ServiceCertificateOptions,
) => Promise<VerifiedCertificate>

/** Verifies the certificates of one service. @param service its address, which may be an internal one */
export function serviceCertificates(
  service: string,
  fetch: typeof globalThis.fetch,
): VerifyServiceCertificate {
  const client = new IssuerClient(fetch, service)
  return (token, { issuer = service, maxAgeSeconds, now }) =>
    verifyCertificateBy(client, token, { issuers: [issuer], now }, maxAgeSeconds)
}
