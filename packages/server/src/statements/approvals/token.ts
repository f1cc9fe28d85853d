import {
  type ApprovalClaims,
  type ApprovedBy,
  assertionEvidence,
  CodedError,
  MAX_APPROVAL_TOKEN_LENGTH,
  type Tail,
  TOKEN_TYPES,
} from '@countersign/protocol'
import { didOfAgent, type Site } from '../../base/site.ts'
import type { ApprovalRow } from '../../database/schema/approval-rows.ts'
import type { IssuerKeys } from '../../secrets/issuer-keys/issuer-keys.ts'

/** The columns that claims are made of. */
type Approved = Pick<
  ApprovalRow,
  | ('id' | 'tail' | 'origin' | 'method' | 'url' | 'content_type' | 'body_digest')
  | ('valid_seconds' | 'decided_at' | 'mandate_id')
>

/** When the token of an approved request expires, in Unix seconds; null: it was not approved. */
export function tokenExpiry({
  state,
  decided_at,
  valid_seconds,
}: Pick<ApprovalRow, 'state' | 'decided_at' | 'valid_seconds'>): number | null {
  if (state !== 'approved' || decided_at === null) return null
  return Math.floor(decided_at / 1000) + valid_seconds
}

/** What approved a request. The row has the assertion, of the request or of the mandate. */
export function approvedBy({ mandate_id }: Pick<ApprovalRow, 'mandate_id'>): ApprovedBy {
  return mandate_id === null ? 'passkey' : 'mandate'
}

/** The claims of an approval that was given. */
function claimsOf(site: Site, row: Approved, evidence: string): ApprovalClaims {
  const iat = Math.floor((row.decided_at as number) / 1000)
  const { content_type: type, body_digest: sha256 } = row
  return {
    iss: site.baseUrl,
    sub: didOfAgent(site, row.tail as Tail),
    aud: row.origin,
    jti: row.id,
    iat,
    exp: iat + row.valid_seconds,
    method: row.method,
    url: row.url,
    content: type === null || sha256 === null ? null : { type, sha256 },
    by: approvedBy(row),
    evidence,
  }
}

/** Signs the token of an approved request, from its row: nothing secret is stored. @throws StorageFailure; CodedError UNAVAILABLE */
export function approvalToken(site: Site, issuerKeys: IssuerKeys, row: ApprovalRow): string {
  const { authenticator_data: authenticatorData, client_data: clientData, signature } = row
  if (authenticatorData === null || clientData === null || signature === null) {
    throw new Error(`the approval ${row.id} has no assertion`)
  }
  const evidence = assertionEvidence({ authenticatorData, clientData, signature })
  return issuerKeys.sign(TOKEN_TYPES.approval, claimsOf(site, row, evidence))
}

const DIGEST = 'A'.repeat(43)
const SIGNATURE_BYTES = 64

/**
 * Asserts that the token of a request fits into a header, before anybody decides.
 * @throws CodedError VALIDATION_ERROR
 */
export function assertTokenFits(site: Site, row: Approved): void {
  const header = { alg: 'EdDSA', kid: DIGEST, typ: TOKEN_TYPES.approval }
  const claims = claimsOf(site, { ...row, decided_at: 9_999_999_999_000 }, DIGEST)
  const parts = [JSON.stringify(header).length, JSON.stringify(claims).length, SIGNATURE_BYTES]
  const length = parts.reduce((sum, bytes) => sum + Math.ceil((bytes * 4) / 3), 2)
  if (length <= MAX_APPROVAL_TOKEN_LENGTH) return
  throw new CodedError(
    'VALIDATION_ERROR',
    `The approval would have ${length} characters. Sites accept at most ${MAX_APPROVAL_TOKEN_LENGTH}: shorten the url.`,
  )
}
