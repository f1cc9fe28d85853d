import type { Naming } from '@countersign/protocol'
import { CountersignError } from '../errors.ts'
import { isTransient, pause } from '../http/retry.ts'
import type { ServiceClient } from '../http/service-client.ts'
import { clientOf, type Registry } from '../registry.ts'
import { wireReader } from '../responses/read-schema.ts'
import * as schemas from '../responses/schemas.ts'
import { sendSigned } from '../send-signed.ts'
import type { SignedCalls } from '../service-signer.ts'

/** How an agent asks its owner for an approval. */
export interface ApprovalOptions {
  /** What you say about the request, at most 200 characters. The owner sees it as a quotation, below the request itself. */
  readonly message?: string | undefined
  /** How long the owner has to decide, in seconds: 60 to 86,400. Default: 900. */
  readonly expiresInSeconds?: number | undefined
  /** How long the approval is valid after the decision, in seconds: 60 to 3,600. Default: 600. */
  readonly validSeconds?: number | undefined
  /** Called once the owner has been asked: show them `approveUrl` if you can. Errors that it throws end the call. */
  readonly onPending?: ((pending: PendingApproval) => unknown) | undefined
  /** Ends the wait. The owner can still decide. */
  readonly signal?: AbortSignal | undefined
}

/** An approval that the owner has been asked for. */
export interface PendingApproval {
  /** `ap_…` */
  readonly id: string
  /** The page on which the owner decides. */
  readonly approveUrl: string
  /** Until when the owner can decide: ISO 8601, UTC. */
  readonly expiresAt: string
  /**
   * Waits for the decision. Several calls do no harm.
   * @returns the token, for `fetch(url, { …, approval: token })`
   * @throws CountersignError APPROVAL_DENIED, APPROVAL_EXPIRED; the reason of the signal if that ends the wait
   */
  wait(options?: Pick<ApprovalOptions, 'signal'>): Promise<string>
}

/** A request exactly as it will be sent. */
export interface RequestBytes {
  readonly method: string
  readonly url: string
  /** Null without one. */
  readonly contentType: string | null
  readonly body: Uint8Array | null
}

/** Described at `Agent.requestApproval`. */
export async function requestApproval(
  calls: SignedCalls,
  request: RequestBytes,
  { message, expiresInSeconds, validSeconds, signal }: ApprovalOptions,
): Promise<PendingApproval> {
  const body = { request: described(request), message, expiresInSeconds, validSeconds }
  const call = { path: 'approvals', body, schema: schemas.REQUESTED_APPROVAL, alsoOk: [201] }
  const asked = await sendSigned(calls, call, { signal }).catch((error: CountersignError) => {
    if (error.code !== 'FORBIDDEN') throw error
    const { message: text, status, requestId } = error
    throw new CountersignError('APPROVALS_OFF', text, {
      ...(status !== null && { status }),
      ...(requestId !== null && { requestId }),
      cause: error,
    })
  })
  const { id, approveUrl, expiresAt, pollSeconds } = asked
  return {
    id,
    approveUrl,
    expiresAt,
    wait: (options = {}) => decision(calls, { id, pollSeconds, signal: options.signal ?? signal }),
  }
}

function described({ method, url, contentType, body }: RequestBytes) {
  if (body === null || body.length === 0) return { method, url }
  return { method, url, contentType: plainType(contentType), body: textOf(body) }
}

/** Sites accept the type with this parameter too, which says what JSON is anyway. */
function plainType(contentType: string | null): string {
  return (contentType ?? '').replace(/^(application\/json)\s*;\s*charset="?utf-8"?$/i, '$1')
}

function textOf(body: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
  } catch (cause) {
    const message = 'Only a body of JSON in UTF-8 can be approved.'
    throw new CountersignError('INVALID_ARGUMENT', message, { cause })
  }
}

/** An approval whose decision is asked for. */
interface AskedApproval {
  readonly id: string
  readonly pollSeconds: number
  readonly signal: AbortSignal | undefined
}

/** Asks for the state until it is decided. */
async function decision({ registry }: SignedCalls, asked: AskedApproval): Promise<string> {
  const { signal } = asked
  for (;;) {
    const next = await askForDecision(registry, asked)
    if (typeof next === 'string') return next
    await pause(next, signal).catch(() => signal?.throwIfAborted())
  }
}

/**
 * Asks once for the decision. Short failures of the service count as none.
 * @returns the token, or how long to wait before the next question, in ms
 * @throws CountersignError APPROVAL_DENIED, APPROVAL_EXPIRED, NOT_FOUND
 */
export async function askForDecision(
  registry: Registry,
  { id, pollSeconds, signal }: AskedApproval,
): Promise<string | number> {
  const client = clientOf(registry) as ServiceClient
  const read = wireReader(schemas.APPROVAL_STATE, null as Naming | null)
  try {
    const path = `/api/v1/approvals/${id}`
    const progress = await client.send({ path }, read, isTransient, signal)
    return progress.state === 'pending' ? pollSeconds * 1000 : tokenOf(progress)
  } catch (error) {
    signal?.throwIfAborted()
    if (!(error instanceof CountersignError) || !isTransient(error)) throw error
    return error.retryAfterMs ?? pollSeconds * 1000
  }
}

function tokenOf({
  state,
  token,
}: {
  readonly state: string
  readonly token?: string | undefined
}): string {
  if (state === 'approved' && token !== undefined) return token
  if (state === 'denied') {
    throw new CountersignError('APPROVAL_DENIED', 'The owner has denied this request.')
  }
  if (state === 'cancelled') {
    throw new CountersignError(
      'APPROVAL_DENIED',
      'The approval was cancelled: the agent is not active, has another key or owner, or may no longer ask.',
    )
  }
  const message =
    state === 'approved'
      ? 'The approval has expired before it was used. Ask again.'
      : 'The owner has not decided in time. Ask again.'
  throw new CountersignError('APPROVAL_EXPIRED', message)
}
