import type { MayRetry } from './http/retry.ts'
import type { ServiceClient } from './http/service-client.ts'
import type { CallOptions } from './options.ts'
import { about, type Reference } from './reference.ts'
import type { KeyReport } from './registry-requests.ts'
import type { Read } from './responses/read-schema.ts'

/** A request that changes the keys of an agent. */
export interface KeyChange {
  /** Below the agent's own URL. */
  readonly path: string
  readonly body: object
  readonly mayRetry: MayRetry
}

/** Sends a change of an agent's keys, and forgets what was cached: it may be outdated now. */
export async function changeKey<T extends { readonly did: string }>(
  client: ServiceClient,
  reference: Reference,
  { path, body, mayRetry }: KeyChange,
  reader: Read<T>,
  { signal }: Pick<CallOptions, 'signal'>,
): Promise<T> {
  const request = { path: `/api/v1/agent/${reference.segment}/${path}`, body }
  const read = about(reference, reader, (changed) => changed.did)
  try {
    return await client.send(request, read, mayRetry, signal)
  } finally {
    client.clearCache()
  }
}

/** The body of what a key signs alone, without what the caller may have added. */
export function signedBody({ sequence, issuedAt, signature }: KeyReport): KeyReport {
  return { sequence, issuedAt, signature }
}
