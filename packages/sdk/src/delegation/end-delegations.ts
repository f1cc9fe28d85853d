import { parseJws } from '@countersign/protocol'
import { CountersignError } from '../errors.ts'
import { pause } from '../http/retry.ts'
import { endRequest, type KeyHolder } from '../key-operations.ts'
import type { CallOptions } from '../options.ts'
import type { Registry } from '../registry.ts'
import type { AgentObject, DelegationsEnded } from '../responses/types.ts'

const POLL_MS = 250
const MAX_WAIT_MS = 10_000

/**
 * Described at `Agent.endDelegations`.
 * @throws CountersignError as described there
 */
export async function endDelegations(
  registry: Registry,
  holder: KeyHolder,
  self: AgentObject,
  options: Pick<CallOptions, 'signal'>,
): Promise<DelegationsEnded> {
  const { did } = holder
  const { entry } = await entryOfCertificate(registry, did, options)
  const request = await endRequest(holder, 'end-delegations', self)
  const ended = await registry.endDelegations(did, request, options)
  const { endedAt } = ended
  if (endedAt !== null) await waitForOtherEntry(registry, did, { entry, endedAt }, options)
  return ended
}

/** The status entry that the current certificate of an agent names, which every chain under it shares. */
async function entryOfCertificate(
  registry: Registry,
  did: string,
  { signal }: Pick<CallOptions, 'signal'>,
): Promise<{ readonly entry: string; readonly issuedAt: number }> {
  const token = await registry.certificate(did, { fresh: true, staleIfErrorMs: 0, signal })
  const { status, iat } = parseJws(token).payload
  return { entry: JSON.stringify(status), issuedAt: Number(iat) * 1000 }
}

/**
 * Waits until the service issues a certificate with another entry: one node may be a second behind another, and chains under the certificate
 * that it still hands out are refused.
 * @param ended the entry before, and when its delegations ended: ISO 8601
 * @throws CountersignError TIMEOUT
 */
async function waitForOtherEntry(
  registry: Registry,
  did: string,
  ended: { readonly entry: string; readonly endedAt: string },
  options: Pick<CallOptions, 'signal'>,
): Promise<void> {
  // `iat` has whole seconds.
  const from = Math.floor(Date.parse(ended.endedAt) / 1000) * 1000
  for (let waited = 0; waited < MAX_WAIT_MS; waited += POLL_MS) {
    const { entry, issuedAt } = await entryOfCertificate(registry, did, options)
    if (entry !== ended.entry && issuedAt >= from) return
    await pause(POLL_MS, options.signal)
  }
  throw new CountersignError(
    'TIMEOUT',
    'All delegations have ended, but the service has issued no certificate for new ones yet. Try to delegate later.',
  )
}
