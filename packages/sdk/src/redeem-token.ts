import type { Naming } from '@countersign/protocol'
import type { CountersignError } from './errors.ts'
import { abortedBy, claimError, wasNotProcessed } from './http/retry.ts'
import type { ServiceClient } from './http/service-client.ts'
import { certifiedIn } from './reference.ts'
import type { ClaimRequest } from './registry-requests.ts'
import { wireReader } from './responses/read-schema.ts'
import * as schemas from './responses/schemas.ts'
import type { Claimed } from './responses/types.ts'

/** Described at `Registry.redeem`. @param naming null: any deployment */
export async function redeemToken(
  client: ServiceClient,
  naming: Naming | null,
  { claimToken, agentId, publicKey, signature }: ClaimRequest,
  signal: AbortSignal | undefined,
): Promise<Claimed> {
  if (signal?.aborted) throw abortedBy(signal)
  const body = { claimToken, agentId, publicKey, signature }
  const readClaimed = wireReader(schemas.CLAIMED, naming)
  const read = (answer: unknown): Claimed => {
    const { did, message } = readClaimed(answer)
    return { did, message }
  }
  try {
    return await client.send({ path: '/api/v1/claim', body }, read, wasNotProcessed, signal)
  } catch (error) {
    const did = certifiedIn(naming, error as CountersignError)
    if (did === null) throw claimError(error as CountersignError)
    return { did, message: 'The key has this certificate already. Nothing was changed.' }
  } finally {
    // Cached responses about this key may be outdated now.
    client.clearCache()
  }
}
