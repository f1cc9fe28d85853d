import type { AgentStatus, Lookup } from '@countersign/protocol'
import type { Field } from './output.ts'

/** What a status means to whoever reads it. */
export const STATUS_WORDS: Readonly<Record<AgentStatus, string>> = {
  active: 'active',
  suspended: 'suspended: not valid for now',
  revoked: 'revoked: no longer valid, for good',
}

/** A lookup, line by line. */
export function describeCertificate(service: URL, { certificate, owner }: Lookup): Field[] {
  const { identityMethod, claimedAt } = owner
  return [
    ['DID', certificate.id],
    ['Status', STATUS_WORDS[certificate.status]],
    ['Owner', identityMethod === null ? 'identity not verified' : `verified by ${identityMethod}`],
    ['Claimed', claimedAt],
    ['Certificate', URL.parse(certificate.verifyUrl, service.href)?.href ?? certificate.verifyUrl],
  ]
}
