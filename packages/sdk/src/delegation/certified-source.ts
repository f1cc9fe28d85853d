import { keyThumbprint, readRoot } from '@countersign/protocol'
import { CountersignError } from '../errors.ts'
import type { Signer } from '../keys/signer.ts'
import type { CallOptions } from '../options.ts'
import type { Registry } from '../registry.ts'
import type { DelegationSource } from './sign-delegation.ts'

/**
 * The agent's own certificate, as the service issues it now, or the one of a group.
 * @param certificate of a group; undefined: the agent's
 * @throws CountersignError INVALID_ARGUMENT, AGENT_NOT_ACTIVE, PROTOCOL; UNUSABLE_KEY if it is for another key
 */
export async function certifiedSource(
  registry: Registry,
  did: string,
  signer: Signer,
  { certificate, signal }: Pick<CallOptions, 'signal'> & { certificate?: string | undefined },
): Promise<DelegationSource> {
  const token =
    certificate ?? (await registry.certificate(did, { fresh: true, staleIfErrorMs: 0, signal }))
  const before = token.replace(/~$/, '')
  const root = readRoot(before)
  if (root === null || root.did !== did) {
    if (certificate === undefined) {
      throw new CountersignError('PROTOCOL', 'The service issued no certificate.')
    }
    throw new CountersignError('INVALID_ARGUMENT', `This is no certificate of ${did}.`)
  }
  if (root.keyid !== keyThumbprint(signer.publicKey)) {
    throw new CountersignError('UNUSABLE_KEY', `${did} has another key than this agent.`)
  }
  return { before, limits: null, maxDepth: root.maxDepth, expiresAt: root.expiresAt, signer }
}
