import { agentOfKeySetUrl, decodeKey, namingFor, type Tail } from '@countersign/protocol'
import type { KeyLookup } from '@countersign/protocol/signed-request-types'
import { CountersignError } from '../errors.ts'
import type { CallOptions } from '../options.ts'
import { originOf } from '../origin.ts'
import type { Registry } from '../registry.ts'
import { recordKeySequence } from './key-sequences.ts'

/** Options of `registryKeys`. */
export interface RegistryKeysOptions extends Pick<CallOptions, 'signal' | 'staleIfErrorMs'> {
  /** The public address of the service (its `BASE_URL`), if the Registry uses an internal one. Default: that of the Registry. */
  readonly issuer?: string | URL | undefined
  /** The clock, in milliseconds. Default: the system's. */
  readonly now?: (() => number) | undefined
}

/** How long after asking for an unknown key the service is not asked for another one of the same agent. */
const REFRESH_MS = 5_000
/** Agents beyond this are forgotten, the oldest first. */
const MAX_AGENTS = 10_000

/** What is known of an agent's key: its thumbprint, and when the service was last asked because a request named another one. */
interface KnownKey {
  readonly thumbprint: string
  readonly refreshedAt: number
}

const knownKeys = new WeakMap<Registry, Map<Tail, KnownKey>>()

/**
 * Finds the keys of a service's agents in its registry. The address in `Signature-Agent` only names the agent; it is never
 * fetched, and addresses outside the service are `untrusted-agent`.
 * @throws CountersignError INVALID_ARGUMENT
 */
export function registryKeys(registry: Registry, options: RegistryKeysOptions = {}): KeyLookup {
  const { now = Date.now, signal, staleIfErrorMs } = options
  const naming = namingFor(registry.naming.shortName, registry.naming.idHeader)
  const issuer = originOf(options.issuer ?? registry.service, 'The issuer')
  const known = knownKeys.get(registry) ?? new Map<Tail, KnownKey>()
  knownKeys.set(registry, known)
  return async ({ signatureAgent: { url }, keyid }) => {
    const tail = agentOfKeySetUrl(naming, issuer, url)
    if (tail === null) return 'untrusted-agent'
    const last = known.get(tail)
    const isOther = last !== undefined && last.thumbprint !== keyid
    if (isOther && now() - last.refreshedAt < REFRESH_MS) return 'unknown-key'
    try {
      const agent = await registry.agent(tail, { signal, staleIfErrorMs })
      // An earlier key comes from a stale cache, an old response that somebody replays, or a service restored from a backup.
      if (!recordKeySequence(registry, agent.did, agent.keySequence)) return 'directory-unavailable'
      remember(known, tail, {
        thumbprint: agent.keyThumbprint,
        refreshedAt: agent.keyThumbprint === keyid ? Number.NEGATIVE_INFINITY : now(),
      })
      const publicKey = decodeKey(agent.publicKey)
      if (agent.keyThumbprint !== keyid || publicKey === null) return 'unknown-key'
      return { publicKey, did: agent.did, status: agent.status }
    } catch (error) {
      const isUnknown = error instanceof CountersignError && error.code === 'NOT_FOUND'
      return isUnknown ? 'unknown-key' : 'directory-unavailable'
    }
  }
}

function remember(known: Map<Tail, KnownKey>, tail: Tail, key: KnownKey): void {
  known.delete(tail)
  known.set(tail, key)
  for (const oldest of known.keys()) {
    if (known.size <= MAX_AGENTS) return
    known.delete(oldest)
  }
}
