import {
  type ApprovalTokenVerifier,
  approvalAgeFault,
  type FoundApproval,
  findApproval,
  isBodyCompared,
  recordApproval,
} from '../approvals/check-approval.ts'
import { APPROVED_BY } from '../approvals/read-token.ts'
import { MAX_DELEGATION_SECONDS, MAX_HOPS } from '../delegation/format.ts'
import { readDelegation, refuseRoot, verifyDelegation } from '../delegation/verify-delegation.ts'
import { ProvenChains, type VerifyBytes } from '../delegation/verify-hops.ts'
import { headerFields } from './raw-request.ts'
import type {
  ApprovalPolicy,
  DelegationPolicy,
  KeyLookup,
  NonceOutcome,
  NonceStore,
  ProvenKey,
  RawRequest,
  RootLookup,
  SignatureReason,
  SignatureResult,
  UnverifiedResult,
} from './signed-request-types.ts'
import {
  checkReplayAndBody,
  type ExpectedSignatures,
  type ParsedSignature,
  refuseSignature,
  signatureReader,
  type VerifiedSignature,
  verifyWithKey,
} from './verify-request.ts'

/** Which chains of delegations a verifier accepts, and how it verifies their certificates. */
export interface DelegationOptions extends DelegationPolicy {
  readonly findRoot: RootLookup
  /** Shared by verifiers that live shorter. Default: those of this verifier. */
  readonly proven?: ProvenChains | undefined
}

/** Which approvals a verifier requires, and how it verifies their tokens. */
export interface ApprovalRequirement extends ApprovalPolicy {
  readonly verifyToken: ApprovalTokenVerifier
}

/** Options of `requestVerifier`. */
export interface RequestVerifierOptions extends ExpectedSignatures {
  readonly findKey: KeyLookup
  readonly verifySignature: VerifyBytes
  /** Null: the caller detects replays itself, and no nonce is recorded. */
  readonly nonces: NonceStore | null
  /** Default: null, every request with a chain of delegations is refused. */
  readonly delegation?: DelegationOptions | null | undefined
  /** Default: null, no approval is required. Every other request is refused, and an approval admits its request once. */
  readonly approval?: ApprovalRequirement | null | undefined
  /** The site's policy, asked before the nonce is recorded. Default: everyone. */
  readonly admit?: ((key: ProvenKey) => boolean | Promise<boolean>) | undefined
}

/** Verifies the signature of a request. */
export type RequestVerifier = (request: RawRequest) => Promise<SignatureResult>

/**
 * Creates a verifier of Web Bot Auth signatures (RFC 9421, draft-ietf-webbotauth-httpsig-protocol), by agents and, if `delegation` says so,
 * by keys that they have delegated to. It uses no network, clock or store but those of its options.
 * @throws RangeError if an audience is not an origin, or a number in `delegation` is out of its range
 */
export function requestVerifier(options: RequestVerifierOptions): RequestVerifier {
  const { findKey, verifySignature, nonces, admit = () => true } = options
  const { delegation = null, approval = null } = options
  if (delegation !== null) assertDelegationPolicy(delegation)
  if (approval !== null) assertApprovalPolicy(approval)
  const proven = delegation?.proven ?? new ProvenChains()
  const read = signatureReader(options)

  const prove = async (
    signature: ParsedSignature,
  ): Promise<VerifiedSignature | UnverifiedResult> => {
    const { signatureAgent, keyid } = signature
    const key = await findKey({ signatureAgent, keyid })
    return typeof key === 'string'
      ? refuseSignature(signature, key)
      : verifyWithKey(signature, key, verifySignature)
  }
  const proveDelegated = async (
    signature: ParsedSignature,
  ): Promise<VerifiedSignature | UnverifiedResult> => {
    const delegated = readDelegation(signature, delegation, proven)
    if ('verdict' in delegated || delegation === null) return delegated as UnverifiedResult
    const key = await delegation.findRoot(delegated.root)
    return typeof key === 'string'
      ? refuseRoot(delegated, key)
      : verifyDelegation(delegated, key, { verify: verifySignature, proven })
  }

  return async (request) => {
    const signature = read(request, headerFields(request.headers))
    if ('verdict' in signature) return signature
    const verified = await (signature.chain === null ? prove(signature) : proveDelegated(signature))
    if ('verdict' in verified) return verified
    const { key, keyid, signatureAgent, known } = verified
    const admitted = { ...key, keyid, signatureAgent, delegation: known.delegation }
    const found = approval && (await approvalOf(verified, approval, options.now()))
    if (typeof found === 'string') return refuseSignature(verified, found)
    if (!(await admit(admitted))) return refuseSignature(verified, 'not-admitted')
    const result = await checkReplayAndBody(verified, nonces)
    if (found === null || approval === null || result.verdict !== 'verified') return result
    return useApproval(verified, result, { found, approval, nonces })
  }
}

async function approvalOf(
  verified: VerifiedSignature,
  { verifyToken, ...policy }: ApprovalRequirement,
  now: number,
): Promise<FoundApproval | SignatureReason> {
  const found = await findApproval(verified, verifyToken)
  if (typeof found === 'string') return found
  return approvalAgeFault(found.approval, policy, now) ?? found
}

/** Last, so that a request that is refused uses nothing up. */
async function useApproval(
  verified: VerifiedSignature,
  result: SignatureResult,
  {
    found,
    approval: { bodyCheckedByApplication },
    nonces,
  }: {
    readonly found: FoundApproval
    readonly approval: ApprovalRequirement
    readonly nonces: NonceStore | null
  },
): Promise<SignatureResult> {
  if (!bodyCheckedByApplication && !isBodyCompared(found, verified, result.digest, true)) {
    return refuseSignature(verified, 'approval-mismatch')
  }
  const outcome = nonces === null ? 'fresh' : await recordApproval(found, nonces)
  if (outcome === 'fresh') return { ...result, approval: found.approval }
  return refuseSignature(verified, APPROVAL_REFUSALS[outcome])
}

const APPROVAL_REFUSALS = {
  used: 'approval-used',
  'share-exceeded': 'too-many-requests',
  unchecked: 'approval-unchecked',
} as const satisfies Record<Exclude<NonceOutcome, 'fresh'>, SignatureReason>

/** @throws RangeError: an empty list or NaN would refuse everything, or accept what nobody meant */
export function assertApprovalPolicy({
  maxAgeSeconds,
  by,
  bodyCheckedByApplication,
}: ApprovalPolicy): void {
  const isAge = Number.isInteger(maxAgeSeconds) && maxAgeSeconds >= 60 && maxAgeSeconds <= 3600
  const isMethods =
    Array.isArray(by) && by.length > 0 && by.every((each) => APPROVED_BY.includes(each))
  if (isAge && isMethods && typeof bodyCheckedByApplication === 'boolean') return
  throw new RangeError(
    `approval has maxAgeSeconds (60 to 3600), by (a list of ${APPROVED_BY.join(', ')}) and bodyCheckedByApplication (a boolean)`,
  )
}

/** @throws RangeError: with NaN or Infinity in it, a policy would accept what nobody meant */
export function assertDelegationPolicy({ maxDepth, maxSeconds, mcp }: DelegationPolicy): void {
  const isUpTo = (value: number, most: number) =>
    Number.isInteger(value) && value >= 1 && value <= most
  if (isUpTo(maxDepth, MAX_HOPS) && isUpTo(maxSeconds, MAX_DELEGATION_SECONDS)) {
    if (typeof mcp === 'boolean') return
  }
  throw new RangeError(
    `delegation has maxDepth (1 to ${MAX_HOPS}), maxSeconds (1 to ${MAX_DELEGATION_SECONDS}) and mcp (a boolean)`,
  )
}
