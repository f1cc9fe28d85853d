import { createHash, randomBytes } from 'node:crypto'
import { type ApprovalClaims, type JwsAlgorithm, TOKEN_TYPES } from '@countersign/protocol'
import { IssuerKeyRing } from '../../packages/server/src/secrets/issuer-keys/issuer-keys.ts'
import type { TestService } from './service.ts'

/** What tests approve. */
export const BODY = '{"total":"129.00","currency":"EUR","to":"Example GmbH"}'
export const JSON_TYPE = 'application/json'
export const PURCHASE: RequestInit = {
  method: 'POST',
  headers: { 'content-type': JSON_TYPE },
  body: BODY,
}
const SHOP = 'https://shop.example'

/** What an approval says otherwise than for a purchase at `https://shop.example/orders`. */
export interface ApprovalChanges extends Partial<ApprovalClaims> {
  /** Seconds from now. */
  readonly issuedIn?: number
  readonly seconds?: number
  readonly body?: string | null
}

/** What signs tokens: a TestIssuer, or the keys of a service. */
export interface ApprovalSigner {
  readonly origin: string
  sign(typ: string, payload: object, alg?: JwsAlgorithm): string | Promise<string>
}

/** The token of an approval, as a service issues it after an owner has decided. */
export async function approvalToken(
  issuer: ApprovalSigner,
  did: string,
  { issuedIn = 0, seconds = 600, body = BODY, ...claims }: ApprovalChanges = {},
  { typ = TOKEN_TYPES.approval as string, alg = 'EdDSA' as JwsAlgorithm } = {},
): Promise<string> {
  const iat = Math.floor(Date.now() / 1000) + issuedIn
  const payload: ApprovalClaims = {
    iss: issuer.origin,
    sub: did,
    aud: SHOP,
    jti: `ap_${randomBytes(16).toString('base64url')}`,
    iat,
    exp: iat + seconds,
    method: 'POST',
    url: `${SHOP}/orders`,
    content: body === null ? null : { type: JSON_TYPE, sha256: digestOf(body) },
    by: 'passkey',
    evidence: digestOf('an assertion'),
    ...claims,
  }
  return issuer.sign(typ, payload, alg)
}

/** Signs with the keys of a service, without a decision of an owner. */
export async function serviceSigner({
  url,
  operator,
  settings,
}: TestService): Promise<ApprovalSigner> {
  const ring = await IssuerKeyRing.open({
    db: operator.db,
    folders: settings,
    now: Date.now,
    // It is not refreshed here.
    elapsed: () => 0,
    certificateLifetimeMs: 1,
  })
  return { origin: url, sign: (typ, payload, alg) => ring.sign(typ as never, payload, alg) }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
