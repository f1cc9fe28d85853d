import {
  approvalChallenge,
  approvalRequestFault,
  approvalStatement,
  type JsonRow,
  jsonRows,
  type OwnerApproval,
  type QueryRow,
  queryRows,
  textDigest,
} from '@countersign/protocol'

/**
 * A request as the page shows it, and as the passkey signs it: one reading for both, so that nothing is signed that is not shown.
 * What the service says besides, such as its digests, is not used.
 */
export interface ShownRequest {
  readonly id: string
  /** The DID. */
  readonly agent: string
  /** Self-declared. */
  readonly displayName: string
  readonly method: string
  readonly url: URL
  /** Null: it cannot be shown. */
  readonly query: readonly QueryRow[] | null
  readonly contentType: string | null
  readonly body: string | null
  /** Null: there is no body, or it cannot be shown. */
  readonly rows: readonly JsonRow[] | null
  readonly message: string | null
  /** How long the approval is valid. */
  readonly seconds: number
  readonly salt: string
  /** The service's address when the agent asked. */
  readonly service: string
  /** Why the request cannot be approved; null if it can. */
  readonly fault: string | null
}

/** Reads what the page shows of an approval. */
export function shownRequest(approval: OwnerApproval): ShownRequest {
  const { id, agent, displayName, method, contentType, body, message, salt, service } = approval
  const fault = approvalRequestFault({ method, url: approval.url, contentType, body }, service)
  return {
    id,
    agent,
    displayName,
    method,
    url: new URL(approval.url),
    query: queryRows(approval.url),
    contentType,
    body,
    rows: body === null ? null : rowsOf(body),
    message,
    seconds: approval.validSeconds,
    salt,
    service,
    fault,
  }
}

function rowsOf(body: string): readonly JsonRow[] | null {
  try {
    return jsonRows(body)
  } catch {
    return null
  }
}

/** The challenge of the passkey for a request that is shown: 32 bytes. @param shortName of the deployment */
export function challengeOf(shown: ShownRequest, shortName: string): Uint8Array {
  const { id, agent, method, url, contentType, body, message, seconds, salt, service } = shown
  const statement = approvalStatement({
    agent,
    approval: id,
    body: body === null ? null : textDigest(body),
    contentType,
    message: message === null ? null : textDigest(message),
    method,
    salt,
    seconds,
    service,
    url: url.href,
  })
  return approvalChallenge(shortName, statement)
}

/** Where a request goes, in ASCII: the host, and the scheme if it is not https. */
export function siteOf({ protocol, host, origin }: URL): string {
  return protocol === 'https:' ? host : origin
}

/** Whether a host name has letters that are written in ASCII as `xn--`. */
export function isInternational({ hostname }: URL): boolean {
  return hostname.split('.').some((label) => label.startsWith('xn--'))
}
