import {
  type ApprovalRequirement,
  assertApprovalPolicy,
  assertDelegationPolicy,
  DEFAULT_APPROVAL,
  type DelegationOptions,
  namingFor,
  ProvenChains,
  readBody,
  requestVerifier,
} from '@countersign/protocol'
import type {
  ApprovalPolicy,
  DelegationPolicy,
  NonceStore,
  ProvenKey,
  RawRequest,
  SignatureResult,
} from '@countersign/protocol/signed-request-types'
import { CountersignError } from '../errors.ts'
import { isSignature } from '../keys/verify-signature.ts'
import { originOf } from '../origin.ts'
import type { Registry } from '../registry.ts'
import type { KeyDirectories } from './key-directories.ts'
import { type RegistryKeysOptions, registryKeys } from './registry-keys.ts'
import { registryRoots } from './registry-roots.ts'

/** Options of `verifyRequest`. */
export interface VerifyRequestOptions extends RegistryKeysOptions {
  /** The service that certifies the agents. */
  readonly registry: Registry
  /**
   * The origins at which agents reach you, such as `https://shop.example`. Never take one from a request: a site could forward
   * to you what was signed for itself.
   */
  readonly audiences: readonly (string | URL)[]
  /**
   * The nonces that were used, shared by all processes that accept requests for these audiences; `memoryNonceStore()`, created
   * once, is for one process. Null: you detect replays yourself.
   */
  readonly nonces: NonceStore | null
  /** Which of the agents with an active certificate to admit, asked before the nonce is recorded. Default: all. */
  readonly admit?: ((key: ProvenKey) => boolean | Promise<boolean>) | undefined
  /**
   * Directories of keys that you trust besides the service (`keyDirectories`, created once). Who signs with one of their keys is
   * `verified` without a DID: `signatureAgent` says whose key it is. Default: none.
   */
  readonly directories?: KeyDirectories | undefined
  /**
   * Which delegates of agents to accept: requests that a worker signs, with a chain of delegations from its agent. Then `did` is the
   * agent, and `delegation` says more. Such requests need the service: `staleIfErrorMs` is not for them. Default: null, all are refused.
   */
  readonly delegation?: DelegationPolicy | null | undefined
  /**
   * Which approvals by its owner a request needs, each of which admits it once; omitted members are `600`, `['passkey']` and `false`. Then
   * `approval` of the result says more. `nonces` records that it was used; with null, you do that: refuse an `approval.useKey` that you
   * have stored before. Default: null, none is needed.
   */
  readonly approval?: Partial<ApprovalPolicy> | null | undefined
}

const provenChains = new WeakMap<Registry, ProvenChains>()

/**
 * Verifies the signature that `Agent.fetch` puts on a request (RFC 9421, Web Bot Auth). Decide by `verdict`: if it is `verified`, `did` is
 * the agent, and `reason` is null; else `reason` is for your log.
 * Pass a `RawRequest` if your server gives you the request as it was received: a `Request` has an address that was normalized and
 * headers that were joined. The body of a `Request` is read from a clone, up to 10 MiB; of a larger one, `digest` is `unchecked`.
 * @throws CountersignError INVALID_ARGUMENT if an option is invalid
 */
export function verifyRequest(
  request: Request | RawRequest,
  options: VerifyRequestOptions & { readonly directories?: undefined },
): Promise<SignatureResult<string>>
export function verifyRequest(
  request: Request | RawRequest,
  options: VerifyRequestOptions,
): Promise<SignatureResult>
export async function verifyRequest(
  request: Request | RawRequest,
  options: VerifyRequestOptions,
): Promise<SignatureResult> {
  const { registry, audiences, nonces, admit, directories } = options
  const { delegation = null, approval = null } = options
  const { now = Date.now } = options
  const findAgentKey = registryKeys(registry, options)
  const verify = requestVerifier({
    audiences: audiences.map((each) => originOf(each, 'An audience')),
    naming: namingFor(registry.naming.shortName, registry.naming.idHeader),
    findKey: async (reference) => {
      const key = await findAgentKey(reference)
      // The service comes first: its agents are never fetched from a directory.
      return key === 'untrusted-agent' && directories ? directories.findKey(reference) : key
    },
    verifySignature: isSignature,
    nonces,
    delegation: delegation && delegationFor(delegation, options),
    approval: approval && approvalFor(approval, options),
    admit,
    rulesOf: (agent) => directories?.find(agent) ?? null,
    now,
  })
  return verify('target' in request ? request : await rawRequestOf(request))
}

/** @throws CountersignError INVALID_ARGUMENT */
function delegationFor(policy: DelegationPolicy, options: VerifyRequestOptions): DelegationOptions {
  const { maxDepth, maxSeconds, mcp } = policy
  orInvalidArgument(() => assertDelegationPolicy(policy))
  const { registry } = options
  const proven = provenChains.get(registry) ?? new ProvenChains()
  provenChains.set(registry, proven)
  return { maxDepth, maxSeconds, mcp, proven, findRoot: registryRoots(registry, options) }
}

/** @throws CountersignError INVALID_ARGUMENT */
function approvalFor(
  given: Partial<ApprovalPolicy>,
  { registry, issuer, now }: VerifyRequestOptions,
): ApprovalRequirement {
  const policy = { ...DEFAULT_APPROVAL, ...given }
  orInvalidArgument(() => assertApprovalPolicy(policy))
  return {
    ...policy,
    verifyToken: async (token) => {
      try {
        return await registry.verifyApproval(token, { issuer, now })
      } catch (error) {
        if (!(error instanceof CountersignError)) throw error
        return error.code === 'INVALID_TOKEN' ? 'approval-invalid' : 'directory-unavailable'
      }
    },
  }
}

function orInvalidArgument(assertValid: () => void): void {
  try {
    assertValid()
  } catch (cause) {
    throw new CountersignError('INVALID_ARGUMENT', (cause as Error).message, { cause })
  }
}

async function rawRequestOf(request: Request): Promise<RawRequest> {
  const { origin, host, protocol } = new URL(request.url)
  const isSigned = request.headers.has('signature-input')
  const body = isSigned ? await readBody(request.clone()) : null
  return {
    method: request.method,
    scheme: protocol === 'https:' ? 'https' : 'http',
    authority: host,
    target: request.url.slice(origin.length).replace(/#.*$/s, ''),
    headers: [...request.headers],
    ...(body === 'too-large' ? { hasContent: true } : { body }),
  }
}
