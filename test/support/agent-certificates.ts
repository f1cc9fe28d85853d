import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import type {
  CertificateClaims,
  IssuerKeySet,
  StapleClaims,
  VerifyWithJwk,
} from '@countersign/protocol'
import type { Answer } from './answer.ts'
import { type Ask, ask } from './ask.ts'
import type { TestService } from './service.ts'

export const KEY_SET = '/.well-known/jwks.json'

export function certificatePath(did: string, query = ''): string {
  return `/api/v1/agent/${did}/certificate${query}`
}

/** Asks for an agent's certificate, which must be there. @returns the text */
export async function certificateOf(
  service: TestService,
  did: string,
  init: Ask = {},
  query = '',
): Promise<string> {
  return textOf(await ask(service, certificatePath(did, query), init))
}

/** Asks for an agent's staple. @returns the text */
export async function stapleOf(service: TestService, did: string): Promise<string> {
  return textOf(await ask(service, `/api/v1/agent/${did}/staple`))
}

export async function keySetOf(service: TestService): Promise<IssuerKeySet> {
  return JSON.parse(textOf(await ask(service, KEY_SET))) as IssuerKeySet
}

function textOf({ status, text }: Answer): string {
  assert.equal(status, 200, text)
  return text
}

/** Decodes a compact JWS without verifying it. */
export function decodeJws<T = CertificateClaims>(
  token: string,
): { readonly header: Record<string, string>; readonly claims: T } {
  const [header, claims] = token
    .split('.', 2)
    .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()))
  return { header, claims }
}

export function stapleClaims(token: string): StapleClaims {
  return decodeJws<StapleClaims>(token).claims
}

/** Verifies with node:crypto, as a verifier of tokens does. */
export const verifyWithJwk: VerifyWithJwk = (jwk, message, signature) => {
  const key = createPublicKey({ key: { ...jwk }, format: 'jwk' })
  return jwk.kty === 'OKP'
    ? verify(null, message, key, signature)
    : verify('sha256', message, { key, dsaEncoding: 'ieee-p1363' }, signature)
}
