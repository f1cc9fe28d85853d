import { sha256 } from '@noble/hashes/sha2.js'
import { encodeBase64Url, utf8 } from '../encoding.ts'
import { markedMessage } from '../key-operation.ts'
import type { Naming } from '../naming.ts'
import { keyThumbprint } from '../public-key.ts'

/** What a workload signs to enrol. */
export interface SignedEnrolment {
  /** The origin of the service. */
  readonly service: string
  /** The id of the rule. */
  readonly rule: string
  /** The platform token, in compact form. */
  readonly token: string
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  /** Unix seconds. */
  readonly issuedAt: number
}

/** What a workload signs to end its enrolment. */
export interface SignedEnrolmentEnd {
  readonly service: string
  readonly did: string
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  /** Unix seconds. */
  readonly issuedAt: number
}

/**
 * SHA-256 of a platform token up to its last dot, base64url: without the signature, since an ECDSA signature can be changed without
 * the key, and would make another token of it.
 */
export function platformTokenHash(token: string): string {
  return encodeBase64Url(sha256(utf8(token.slice(0, token.lastIndexOf('.')))))
}

/**
 * The bytes that a workload signs to enrol: 0xFF, then as UTF-8, separated by line feeds, `svc-enrol-v1`, the service, the id of the
 * rule, the hash of the token (`platformTokenHash`), the thumbprint of the key (RFC 7638), and the time.
 */
export function enrolmentMessage(naming: Naming, signed: SignedEnrolment): Uint8Array {
  const { service, rule, token, publicKey, issuedAt } = signed
  const name = `${naming.shortName}-enrol-v1`
  return markedMessage([
    name,
    service,
    rule,
    platformTokenHash(token),
    keyThumbprint(publicKey),
    issuedAt,
  ])
}

/**
 * The bytes that a workload signs to end its agent: 0xFF, then as UTF-8, separated by line feeds, `svc-enrol-end-v1`, the service, the
 * DID, the thumbprint of the key, and the time.
 */
export function enrolmentEndMessage(naming: Naming, signed: SignedEnrolmentEnd): Uint8Array {
  const { service, did, publicKey, issuedAt } = signed
  const name = `${naming.shortName}-enrol-end-v1`
  return markedMessage([name, service, did, keyThumbprint(publicKey), issuedAt])
}
