import type {
  DelegationFault,
  DelegationPolicy,
  DelegationRoot,
  RootFault,
  SignatureReason,
  SigningKey,
  UnverifiedResult,
} from '../http-signatures/signed-request-types.ts'
import {
  isPublishedTestKey,
  type ParsedSignature,
  refuseSignature,
  type VerifiedSignature,
  verifyWithDelegatedKey,
} from '../http-signatures/verify-request.ts'
import { isWithinLimits } from './limits.ts'
import {
  type Chain,
  type ChainHop,
  chainFault,
  chainRefusal,
  delegationOf,
  isBound,
  readChain,
  type SignedChain,
} from './read-chain.ts'
import { type ProvenChains, type VerifyBytes, verifyHops } from './verify-hops.ts'

/** A signature with a chain that was read, of which no signature was verified yet. */
export interface DelegatedSignature {
  readonly signature: ParsedSignature
  /** To find its key by. */
  readonly root: DelegationRoot
  readonly chain: Chain
  /** What its hops signed; null: their signatures are known to be valid. */
  readonly unproven: SignedChain | null
}

/**
 * Steps a to h for a signature whose request has a chain (docs/delegation.md): without network and signatures.
 * @param policy null: every chain is refused
 * @returns a result if the chain does not count
 */
export function readDelegation(
  signature: ParsedSignature,
  policy: DelegationPolicy | null,
  proven: ProvenChains,
): DelegatedSignature | UnverifiedResult {
  const { chain: text, keyid, signatureAgent, expected } = signature
  if (policy === null || text === null) return refuseChain(signature, 'delegation-refused', [])
  const known = proven.get(text)
  const read = known === null ? readChain(text) : null
  if (read !== null && 'fault' in read) {
    return refuseChain(signature, 'delegation-invalid', read.hops, read.fault)
  }
  const chain = known ?? (read as SignedChain)
  const { root, hops } = chain
  const isTestKey = [root, ...hops].some((each) => isPublishedTestKey(each.keyid))
  if (isTestKey && !expected.allowTestKeys) return refuseChain(signature, 'test-key', hops)
  const now = expected.now()
  const fault =
    chainFault(chain, { keyid, now }) ?? (read === null || isBound(read) ? null : 'binding')
  if (fault !== null) return refuseChain(signature, 'delegation-invalid', hops, fault)
  const refusal = chainRefusal(chain, policy, now)
  if (refusal !== null) return refuseChain(signature, refusal, hops)
  const certificate = text.slice(0, text.indexOf('~'))
  return {
    signature,
    root: { signatureAgent, certificate, did: root.did, keyid: root.keyid },
    chain,
    unproven: read,
  }
}

/** The last part of step i: the result for a chain whose root does not count. */
export function refuseRoot(
  { signature, chain }: DelegatedSignature,
  fault: RootFault,
): UnverifiedResult {
  return refuseChain(signature, fault, chain.hops, fault === 'delegation-invalid' ? 'root' : null)
}

/**
 * Steps j to l: the hops, the request itself, and the limits of the last hop.
 * @param key that a `RootLookup` has found
 * @returns a result if the request does not count
 */
export async function verifyDelegation(
  delegated: DelegatedSignature,
  key: SigningKey,
  { verify, proven }: { readonly verify: VerifyBytes; readonly proven: ProvenChains },
): Promise<VerifiedSignature | UnverifiedResult> {
  const { signature, chain, unproven } = delegated
  const { root, hops } = chain
  // The lookup has compared them. A key that is not the one in the certificate proves nothing of the chain.
  if (key.did !== root.did || !isSame(key.publicKey, root.publicKey)) {
    return refuseRoot(delegated, 'delegation-invalid')
  }
  if (unproven !== null) {
    if (!(await verifyHops(unproven, root.publicKey, verify))) {
      return refuseChain(signature, 'delegation-invalid', hops, 'signature')
    }
    if (signature.chain !== null) proven.add(signature.chain, chain)
  }
  const last = hops.at(-1) as ChainHop
  const delegate = { ...key, publicKey: last.publicKey }
  const delegation = delegationOf(hops, null)
  const by = { key: delegate, agentKeyid: root.keyid, delegation }
  const verified = await verifyWithDelegatedKey(signature, by, verify)
  if ('verdict' in verified || isWithinLimits(last.limits, verified.received)) return verified
  return refuseSignature(verified, 'delegation-limit', delegation)
}

function refuseChain(
  signature: ParsedSignature,
  reason: SignatureReason,
  hops: readonly ChainHop[],
  fault: DelegationFault | null = null,
): UnverifiedResult {
  return refuseSignature(signature, reason, delegationOf(hops, fault))
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((each, at) => each === other[at])
}
