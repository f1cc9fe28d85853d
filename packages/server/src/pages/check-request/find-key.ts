import {
  type ApprovalTokenVerifier,
  agentOfKeySetUrl,
  type DelegationRoot,
  type KeyLookupFault,
  type KeyReference,
  type RootFault,
  type RootLookup,
  type SigningKey,
} from '@countersign/protocol'
import type { VerifyDeps } from '../../agents/verification/verify-challenge.ts'
import { keysOfAgents } from '../../agents/verification/verify-signed-request.ts'
import { didOfAgent } from '../../base/site.ts'
import { SAMPLE_TAIL } from '../sample.ts'
import type { KeyDirectories } from './key-directories.ts'
import { SAMPLE_KEY } from './sample-request.ts'

export interface FindKeyDeps extends VerifyDeps {
  readonly directories: KeyDirectories
  /** Verifies certificates of this service as of a time. */
  readonly rootsAt: (now: () => number) => RootLookup
  /** Verifies approvals of this service as of a time. */
  readonly approvalsAt: (now: () => number) => ApprovalTokenVerifier
}

/** Where the key of a signature was looked for. */
export interface KeySource {
  /** Whether it is that of the sample, which has no certificate. */
  readonly isSample: boolean
  /** Where it was found, as a sentence; empty if it was not. */
  readonly found: string
  /** Why it was not found, as a sentence; null: nothing more than the reason is known. */
  readonly fault: string | null
}

export interface FoundKey {
  readonly key: SigningKey | KeyLookupFault
  readonly source: KeySource
}

interface KeySearch {
  /** The key that "Break it" puts in place of the right one; null: none. */
  readonly swapped: Uint8Array | null
  /** By JWK thumbprint; null: none were pasted. */
  readonly pasted: ReadonlyMap<string, Uint8Array> | null
  /** Of the visitor. */
  readonly address: string
  /** When the key has to be valid, in milliseconds since 1970. */
  readonly now: number
}

/** Finds the key that was pasted, that of an agent of this service, or one in the directory that the signature names. */
export async function findKey(
  deps: FindKeyDeps,
  { swapped, pasted, address, now }: KeySearch,
  reference: KeyReference,
): Promise<FoundKey> {
  const { site } = deps
  if (swapped !== null) return stranger(swapped, 'Another key was found under this keyid.')
  if (pasted !== null) {
    const key = pasted.get(reference.keyid)
    if (key === undefined) {
      return missing('unknown-key', 'None of the keys that you pasted has this keyid.')
    }
    return stranger(key, 'It is the key that you pasted. Nobody else vouches for it.')
  }
  const tail = agentOfKeySetUrl(site.naming, site.baseUrl, reference.signatureAgent.url)
  if (tail === null) return findInDirectory(deps, reference, address, now)
  if (tail === SAMPLE_TAIL) {
    const key = { publicKey: SAMPLE_KEY, did: didOfAgent(site, tail), status: 'active' } as const
    const words = 'It is the key of the sample agent, which exists on this page alone.'
    return { key, source: { isSample: true, found: words, fault: null } }
  }
  const key = await keysOfAgents(deps)(reference)
  if (typeof key === 'string') return missing(key, null)
  const words = 'This service knows the key as the current key of an agent.'
  return { key, source: { isSample: false, found: words, fault: null } }
}

/** Verifies the certificate that a chain of delegations begins with. */
export async function findRoot(
  { rootsAt }: FindKeyDeps,
  now: number,
  root: DelegationRoot,
): Promise<{ readonly key: SigningKey | RootFault; readonly source: KeySource }> {
  const key = await rootsAt(() => now)(root)
  if (key === 'untrusted-agent') {
    const fault =
      'The chain is of an agent of another service. This page verifies those of its own.'
    return { key, source: { isSample: false, found: '', fault } }
  }
  const found = 'This service knows the key in the certificate as the current key of the agent.'
  return {
    key,
    source: { isSample: false, found: typeof key === 'string' ? '' : found, fault: null },
  }
}

async function findInDirectory(
  { directories }: FindKeyDeps,
  { keyid, signatureAgent }: KeyReference,
  address: string,
  now: number,
): Promise<FoundKey> {
  const reading = await directories.read(signatureAgent, address)
  const { url, keys, fault } = reading
  if (keys === null) return missing('directory-unavailable', fault)
  const key = keys.get(keyid)
  if (key === undefined) {
    const words = `${url} has no key with this keyid. It has ${keys.size} other Ed25519 keys.`
    return missing('unknown-key', words)
  }
  if (key.notBefore > now || now >= key.expires) {
    const words = `${url} has the key, but its nbf or exp says that it is not valid at this time.`
    return missing('unknown-key', words)
  }
  const seconds = Math.round(directories.ageOf(reading) / 1000)
  return stranger(key.publicKey, `${url} has the key. It was read ${seconds} s ago.`)
}

/** A key for which this service does not vouch. */
function stranger(publicKey: Uint8Array, found: string): FoundKey {
  const key = { publicKey, did: null, status: null }
  return { key, source: { isSample: false, found, fault: null } }
}

function missing(key: KeyLookupFault, fault: string | null): FoundKey {
  return { key, source: { isSample: false, found: '', fault } }
}
