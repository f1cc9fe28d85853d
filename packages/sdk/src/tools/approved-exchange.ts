import { APPROVAL_POLL_SECONDS } from '@countersign/protocol'
import { approvalRefusal } from '../approvals/approval-refusal.ts'
import { askForDecision } from '../approvals/request-approval.ts'
import { pause } from '../http/retry.ts'
import type { ToolHost } from './define-tool.ts'

/** An approval about which the owner has not decided. */
export interface UndecidedApproval {
  /** `ap_…` */
  readonly approvalId: string
  /** The page on which the owner decides; null: the caller got it with the id. */
  readonly approveUrl: string | null
}

/** What a tool does about approvals, of which nothing decides. */
export interface ApprovalArguments {
  /** Whether to ask the owner if the site requires an approval. */
  readonly approval?: boolean | undefined
  /** An approval that was asked for before. */
  readonly approvalId?: string | undefined
}

/** A request that can be sent more than once, and asked about. */
export interface ApprovableRequest {
  /** @param token of an approval */
  readonly send: (token?: string) => Promise<Response>
  readonly ask: () => Promise<{ readonly id: string; readonly approveUrl: string }>
}

/**
 * Sends a request, with an approval if that is wanted and required. A call of a tool lasts about a minute, so the wait for the owner
 * has an end; the next call goes on with the id.
 * @throws CountersignError APPROVAL_DENIED, APPROVAL_EXPIRED, APPROVALS_OFF, APPROVAL_UNCHECKED
 */
export async function approvedExchange(
  { send, ask }: ApprovableRequest,
  { approval = false, approvalId }: ApprovalArguments,
  host: ToolHost,
): Promise<Response | UndecidedApproval> {
  if (approvalId !== undefined) {
    const token = await tokenInTime(approvalId, host)
    return token === null ? { approvalId, approveUrl: null } : send(token)
  }
  const response = await send()
  if (!approval || (await approvalRefusal(response)) !== 'approval-required') return response
  await response.body?.cancel()
  const { id, approveUrl } = await ask()
  const token = await tokenInTime(id, host)
  return token === null ? { approvalId: id, approveUrl } : send(token)
}

/** @returns null if the owner has not decided in time */
async function tokenInTime(id: string, host: ToolHost): Promise<string | null> {
  const registry = host.registry()
  const end = AbortSignal.timeout(host.approvalWaitMs)
  for (;;) {
    const isLast = end.aborted
    const asked = { id, pollSeconds: APPROVAL_POLL_SECONDS, signal: undefined }
    const next = await askForDecision(registry, asked)
    if (typeof next === 'string') return next
    if (isLast) return null
    await pause(next, end).catch(() => {})
  }
}
