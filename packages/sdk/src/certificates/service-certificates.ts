import { IssuerClient } from './issuer-client.ts'
import {
  type ServiceCertificateOptions,
  type VerifiedCertificate,
  verifyCertificateBy,
} from './verify-certificate.ts'

/**
 * Verifies the certificates of one service, as described at `Registry.verifyCertificate`, which loads this file when it is needed: most
 * clients verify no signatures.
 * @param service its address, which may be an internal one
 */
export function serviceCertificates(
  service: string,
  fetch: typeof globalThis.fetch,
): (token: string, options?: ServiceCertificateOptions) => Promise<VerifiedCertificate> {
  const client = new IssuerClient(fetch, service)
  return (token, { issuer = service, maxAgeSeconds, now } = {}) =>
    verifyCertificateBy(client, token, { issuers: [issuer], now }, maxAgeSeconds)
}
