import { sha256 } from '@noble/hashes/sha2.js'
import { encodeBase64Url, utf8 } from '../encoding.ts'
import { canonicalJson } from '../transparency-log/canonical-json.ts'

/** What a passkey signs: one request of one agent. Every member is shown to the person, or follows from what is shown. */
export interface ApprovalStatement {
  /** The DID. */
  readonly agent: string
  /** The id of the approval. */
  readonly approval: string
  /** `textDigest` of the body; null: the request has none. */
  readonly body: string | null
  readonly contentType: string | null
  /** `textDigest` of what the agent says about the request; null: it says nothing. */
  readonly message: string | null
  readonly method: string
  /** 32 random bytes, base64url. The agent never sees them, so it cannot know the challenge. */
  readonly salt: string
  /** How long the approval is valid, in seconds. */
  readonly seconds: number
  /** The service's address when the agent asked. */
  readonly service: string
  readonly url: string
}

/** SHA-256 of text as UTF-8, base64url. */
export function textDigest(text: string): string {
  return encodeBase64Url(sha256(utf8(text)))
}

/** The statement as canonical JSON (RFC 8785) of exactly these members. */
export function approvalStatement(statement: ApprovalStatement): string {
  const { agent, approval, body, contentType, message, method, salt, seconds, service, url } =
    statement
  return canonicalJson({
    agent,
    approval,
    body,
    contentType,
    message,
    method,
    salt,
    seconds,
    service,
    url,
  })
}

/**
 * The challenge of the passkey: SHA-256 of `svc-approval-v1`, a line feed and the statement. Browsers show no text with a passkey,
 * so this is what binds the signature to what the page has shown.
 * @param shortName of the deployment, in place of `svc`
 * @returns 32 bytes
 */
export function approvalChallenge(shortName: string, statement: string): Uint8Array {
  return sha256(utf8(`${shortName}-approval-v1\n${statement}`))
}

/** The three parts of an assertion (WebAuthn Level 3, section 5.2.2), as bytes. */
export interface AssertionParts {
  readonly authenticatorData: Uint8Array
  readonly clientData: Uint8Array
  readonly signature: Uint8Array
}

/**
 * What a token says of the assertion behind it: SHA-256 of the bytes that the passkey signed, and of its signature.
 * @returns base64url
 */
export function assertionEvidence(parts: AssertionParts): string {
  const { authenticatorData, clientData, signature } = parts
  const hash = sha256.create()
  hash.update(authenticatorData).update(sha256(clientData)).update(signature)
  return encodeBase64Url(hash.digest())
}
