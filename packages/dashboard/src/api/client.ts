import type { ErrorCode, ErrorEnvelope } from '@countersign/protocol'
import { forOwner, organisation } from './acting-for.ts'

/** An error response of the service, or no response at all. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  /** `UNREACHABLE`: there was no response. */
  readonly code: ErrorCode | 'UNREACHABLE'
  /** Users can quote it to the operator. Null if there was no response. */
  readonly requestId: string | null

  constructor(status: number, code: ApiError['code'], message: string, requestId: string | null) {
    super(message)
    this.status = status
    this.code = code
    this.requestId = requestId
  }
}

/** @throws ApiError */
export function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return request<T>(path, { method: 'GET', ...(signal && { signal }) })
}

/**
 * Sends a change.
 * @param body sent as JSON
 * @throws ApiError
 */
export function send<T>(
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body?: object,
): Promise<T> {
  const init: RequestInit = { method }
  // The API expects no body with DELETE, and JSON with every other method.
  if (method !== 'DELETE') {
    init.headers = { 'content-type': 'application/json' }
    init.body = JSON.stringify(body ?? {})
  }
  return request<T>(path, init)
}

/**
 * Sends a request, for the organisation that the page acts for if there is one.
 * @throws ApiError
 */
export async function request<T>(path: string, init: RequestInit): Promise<T> {
  const response = await fetch(forOwner(path), { ...init, credentials: 'same-origin' }).catch(
    (cause) => {
      if (init.signal?.aborted) throw cause
      throw new ApiError(
        0,
        'UNREACHABLE',
        'The service did not respond. Check your connection and try again.',
        null,
      )
    },
  )
  if (response.status === 204) return undefined as T
  const body: unknown = await response.json().catch(() => null)
  if (response.ok) return body as T
  const { error } = (body ?? {}) as Partial<ErrorEnvelope>
  const code = error?.code ?? 'INTERNAL_ERROR'
  if (code === 'UNAUTHENTICATED' && !path.startsWith('/api/sign-')) onSignedOut()
  const isSession = path === '/api/session'
  if (organisation !== null && !isSession && MEMBERSHIP_MAY_HAVE_ENDED.has(code)) onRefused()
  throw new ApiError(
    response.status,
    code,
    error?.message ?? 'The service sent an unexpected response. Reload the page and try again.',
    error?.requestId ?? null,
  )
}

/** With these codes, the service also refuses those whose membership ended, or whose role is lower now. */
const MEMBERSHIP_MAY_HAVE_ENDED: ReadonlySet<ApiError['code']> = new Set(['FORBIDDEN', 'NOT_FOUND'])

let onSignedOut = () => {}
let onRefused = () => {}

/** Sets what to do when the session has ended. */
export function setSignedOutHandler(then: () => void): void {
  onSignedOut = then
}

/** Sets what to do when a request for an organisation was refused, perhaps because the membership or the role has changed. */
export function setRefusedHandler(then: () => void): void {
  onRefused = then
}
