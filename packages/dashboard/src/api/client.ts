import type { ErrorCode, ErrorEnvelope } from '@countersign/protocol'

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

/** @throws ApiError */
export async function request<T>(path: string, init: RequestInit): Promise<T> {
  const response = await fetch(path, { ...init, credentials: 'same-origin' }).catch((cause) => {
    if (init.signal?.aborted) throw cause
    throw new ApiError(
      0,
      'UNREACHABLE',
      'The service did not respond. Check your connection and try again.',
      null,
    )
  })
  if (response.status === 204) return undefined as T
  const body: unknown = await response.json().catch(() => null)
  if (response.ok) return body as T
  const { error } = (body ?? {}) as Partial<ErrorEnvelope>
  const code = error?.code ?? 'INTERNAL_ERROR'
  if (code === 'UNAUTHENTICATED' && !path.startsWith('/api/sign-')) onSignedOut()
  throw new ApiError(
    response.status,
    code,
    error?.message ?? 'The service sent an unexpected response. Reload the page and try again.',
    error?.requestId ?? null,
  )
}

let onSignedOut = () => {}

/** Sets what to do when the session has ended. */
export function setSignedOutHandler(then: () => void): void {
  onSignedOut = then
}
