import {
  namingOfDid,
  parseJws,
  readApprovalToken,
  verifyApprovalToken,
} from '@countersign/protocol'
import { CountersignError } from '../errors.ts'
import { namingOf } from '../naming.ts'
import type { NamingOptions } from '../options.ts'
import type { IssuerClient } from './issuer-client.ts'
import { orInvalidToken } from './status-list.ts'
import { clientFor, keysOf, readTrusted, type VerifyStapleOptions } from './verify-certificate.ts'
import { verifyJwkSignature } from './verify-jwk-signature.ts'

/** Options of `Registry.verifyApproval`. */
export interface ServiceApprovalOptions {
  /** The public address of the service (its `BASE_URL`), if the Registry uses an internal one. Default: that of the Registry. */
  readonly issuer?: string | URL | undefined
  /** The clock, in milliseconds since 1970. Default: the system's. */
  readonly now?: (() => number) | undefined
}

/** Options of `verifyApproval`. */
export interface VerifyApprovalOptions extends VerifyStapleOptions {
  /** The names of the deployment whose agents it may name. Default: those of the DID in it. */
  readonly naming?: NamingOptions | undefined
}

/**
 * The claims of a verified approval token. It may have expired, and admits one request, once: compare all of it with the request that carries
 * it, as `verifyRequest` with `approval` does.
 */
export interface VerifiedApproval {
  /** The origin of the service. */
  readonly iss: string
  /** The agent's DID. */
  readonly sub: string
  /** The origin of the site. */
  readonly aud: string
  /** The id of the approval: `ap_…`. */
  readonly jti: string
  /** When it was decided, in Unix seconds. */
  readonly iat: number
  readonly exp: number
  readonly method: string
  readonly url: string
  /** Null: the request has no body. `sha256` is of its bytes, base64url. */
  readonly content: { readonly type: string; readonly sha256: string } | null
  /** The owner with a passkey, or the service by a standing mandate of the owner. */
  readonly by: 'passkey' | 'mandate'
  /** SHA-256 of the passkey's assertion, which the owner has. */
  readonly evidence: string
}

/**
 * Verifies the token of an approval: form, issuer, key and signature, and that it was not issued in the future.
 * @throws CountersignError INVALID_TOKEN; ISSUER_UNAVAILABLE if the keys cannot be read; INVALID_ARGUMENT
 */
export function verifyApproval(
  token: string,
  options: VerifyApprovalOptions,
): Promise<VerifiedApproval> {
  return verifyApprovalBy(clientFor(options.fetch), token, options)
}

/** The same, with a client of one's own. */
export function verifyApprovalBy(
  client: IssuerClient,
  text: string,
  { issuers, now = Date.now, naming: names }: Omit<VerifyApprovalOptions, 'fetch'>,
): Promise<VerifiedApproval> {
  const all = issuers.map(readTrusted)
  return orInvalidToken('approval', async () => {
    const naming = names ? namingOf(names) : namingOfDid(String(parseJws(text).payload.sub))
    if (naming === null) throw invalid('names no agent.')
    const token = readApprovalToken(text, naming)
    const { header, claims } = token
    const trusted = all.find(({ issuer }) => issuer === claims.iss)
    if (trusted === undefined) throw invalid('is not of an issuer that you trust.')
    const keys = await keysOf(trusted, header.kid, client)
    const expected = { issuer: trusted.issuer, keys, now: now() / 1000 }
    await verifyApprovalToken(token, expected, verifyJwkSignature)
    return claims
  })
}

function invalid(what: string): CountersignError {
  return new CountersignError('INVALID_TOKEN', `The approval ${what}`)
}
