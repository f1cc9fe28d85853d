import {
  agentOfKeySetUrl,
  decodeKey,
  didOf,
  type KeyLookupFault,
  namingFor,
  parseJws,
  type RootFault,
  type RootLookup,
  type Tail,
} from '@countersign/protocol'
import { CountersignError } from '../errors.ts'
import type { CallOptions } from '../options.ts'
import { originOf } from '../origin.ts'
import type { Registry } from '../registry.ts'
import type { AgentObject } from '../responses/types.ts'
import { recordKeySequence } from './key-sequences.ts'
import type { RegistryKeysOptions } from './registry-keys.ts'

/** How old the status list may be: an ended chain is refused after this. */
const MAX_AGE_SECONDS = 5
/** How long after asking again for an agent with another key the service is not asked for it again. */
const REFRESH_MS = 5_000
/** Agents beyond this are forgotten, the oldest first. */
const MAX_AGENTS = 10_000

const refreshedAt = new WeakMap<Registry, Map<Tail, number>>()

/**
 * Verifies the certificates at the roots of chains at the service: its keys and status list, and the lookup of the agent. Nothing old counts.
 * @throws CountersignError INVALID_ARGUMENT
 */
export function registryRoots(registry: Registry, options: RegistryKeysOptions = {}): RootLookup {
  const { now = Date.now, signal } = options
  const naming = namingFor(registry.naming.shortName, registry.naming.idHeader)
  const issuer = originOf(options.issuer ?? registry.service, 'The issuer')
  const refreshed = refreshedAt.get(registry) ?? new Map<Tail, number>()
  refreshedAt.set(registry, refreshed)
  const lookup = (tail: Tail, fresh: boolean) =>
    registry.agent(tail, { signal, fresh, staleIfErrorMs: 0 } satisfies CallOptions)

  return async ({ signatureAgent: { url }, certificate, did, keyid }) => {
    const tail = agentOfKeySetUrl(naming, issuer, url)
    if (tail === null) return 'untrusted-agent'
    const status = await certificateStatus(registry, certificate, { issuer, now })
    if (status !== 'valid' && status !== 'suspended') return status
    if (did !== didOf(naming, tail)) return 'delegation-invalid'
    const { keySequence } = parseJws(certificate).payload
    const isSame = (agent: AgentObject) =>
      agent.did === did && agent.keyThumbprint === keyid && agent.keySequence === keySequence
    try {
      let agent = await lookup(tail, false)
      if (!isSame(agent) && mayRefresh(refreshed, tail, now())) agent = await lookup(tail, true)
      // An earlier key comes from an old answer that somebody replays, or a service restored from a backup.
      if (!recordKeySequence(registry, agent.did, agent.keySequence)) return 'directory-unavailable'
      const publicKey = decodeKey(agent.publicKey)
      if (!isSame(agent) || publicKey === null) return 'delegation-ended'
      return { publicKey, did, status: status === 'suspended' ? status : agent.status }
    } catch (error) {
      return faultOf(error)
    }
  }
}

async function certificateStatus(
  registry: Registry,
  certificate: string,
  options: { readonly issuer: string; readonly now: () => number },
): Promise<'valid' | 'suspended' | RootFault> {
  try {
    await registry.verifyCertificate(certificate, { ...options, maxAgeSeconds: MAX_AGE_SECONDS })
    return 'valid'
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error
    if (error.code === 'CERTIFICATE_SUSPENDED') return 'suspended'
    if (error.code === 'CERTIFICATE_REVOKED') return 'delegation-ended'
    return error.code === 'INVALID_TOKEN' ? 'delegation-invalid' : 'directory-unavailable'
  }
}

function faultOf(error: unknown): KeyLookupFault {
  const isUnknown = error instanceof CountersignError && error.code === 'NOT_FOUND'
  return isUnknown ? 'unknown-key' : 'directory-unavailable'
}

function mayRefresh(refreshed: Map<Tail, number>, tail: Tail, now: number): boolean {
  if (now - (refreshed.get(tail) ?? Number.NEGATIVE_INFINITY) < REFRESH_MS) return false
  refreshed.delete(tail)
  refreshed.set(tail, now)
  for (const oldest of refreshed.keys()) {
    if (refreshed.size <= MAX_AGENTS) break
    refreshed.delete(oldest)
  }
  return true
}
