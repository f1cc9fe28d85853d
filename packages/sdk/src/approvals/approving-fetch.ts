import { CountersignError } from '../errors.ts'
import type { SignedCalls } from '../service-signer.ts'
import { bufferBody } from '../signed-requests/buffered-body.ts'
import type { CarriedApproval } from '../signed-requests/signed-fetch.ts'
import { approvalRefusal } from './approval-refusal.ts'
import {
  type ApprovalOptions,
  type PendingApproval,
  type RequestBytes,
  requestApproval,
} from './request-approval.ts'

/** What `fetch` of an agent takes. */
export interface AgentRequestInit extends RequestInit {
  /** If the site requires an approval by the owner: how to ask for it, or the token of one that was given. */
  readonly approval?: ApprovalOptions | string | undefined
}

/** What `fetch` of a delegate takes. */
export interface DelegateRequestInit extends RequestInit {
  /** The token of an approval, which the agent has asked for. */
  readonly approval?: string | undefined
}

/** How a request gets an approval. @param calls null: only a token can be given. @throws CountersignError INVALID_ARGUMENT */
export function approvalFor(
  approval: AgentRequestInit['approval'],
  calls: SignedCalls | null,
): CarriedApproval | null {
  if (approval === undefined) return null
  if (typeof approval === 'string') return { token: approval, askAfter: async () => null }
  if (calls === null || typeof approval !== 'object' || approval === null) {
    const message =
      calls === null
        ? 'A delegate cannot ask for an approval. Ask the agent for its token.'
        : 'approval takes a token, or an object such as { message }.'
    throw new CountersignError('INVALID_ARGUMENT', message)
  }
  let isAsked = false
  return {
    token: null,
    async askAfter(response, request, body) {
      if (isAsked || (await approvalRefusal(response)) !== 'approval-required') return null
      isAsked = true
      const signal = eitherOf(approval.signal, request.signal)
      const options = { ...approval, signal }
      const pending = await requestApproval(calls, bytesOf(request, body), options)
      await approval.onPending?.(pending)
      return pending.wait({ signal })
    },
  }
}

/** Described at `Agent.requestApproval`. */
export async function askForApproval(
  calls: SignedCalls,
  request: Request,
  options: ApprovalOptions,
): Promise<PendingApproval> {
  return requestApproval(calls, bytesOf(request, await bufferBody(request)), options)
}

function bytesOf({ method, url, headers }: Request, body: Uint8Array | null): RequestBytes {
  return { method, url: url.replace(/#.*$/s, ''), contentType: headers.get('content-type'), body }
}

function eitherOf(one: AbortSignal | undefined, other: AbortSignal): AbortSignal {
  return one === undefined ? other : AbortSignal.any([one, other])
}
