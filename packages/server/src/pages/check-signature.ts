import {
  CodedError,
  decodeKey,
  encodeBase64,
  type VerifyRequest,
  type VerifyResponse,
} from '@countersign/protocol'
import type { PageReadDeps } from '../agents/find-agent.ts'
import { didOfAgent } from '../core/site.ts'
import { type AgentCheck, checkAgent } from './check-agent.ts'

export interface SignatureCheckDeps {
  readonly read: PageReadDeps
  readonly verify: (request: VerifyRequest) => Promise<VerifyResponse>
}

/** The fields of the form, as typed. */
export interface SignatureForm {
  /** A base64 public key, or any reference that `checkAgent` understands. */
  readonly agent: string
  readonly challenge: string
  readonly signature: string
}

export type SignatureCheck =
  | { readonly kind: 'valid'; readonly answer: VerifyResponse }
  | { readonly kind: 'invalid' }
  /** The signature is valid, but no agent has this key. */
  | { readonly kind: 'uncertified' }
  | { readonly kind: 'malformed'; readonly message: string }
  | Exclude<AgentCheck, { kind: 'found' }>

/**
 * Verifies a pasted challenge and signature.
 * @throws CodedError, StorageFailure for faults of the service, never for the input
 */
export async function checkSignature(
  deps: SignatureCheckDeps,
  { agent, challenge, signature }: SignatureForm,
): Promise<SignatureCheck> {
  const holder = await keyToVerifyWith(deps.read, agent)
  if ('kind' in holder) return holder
  let check: SignatureCheck = { kind: 'invalid' }
  for (const each of lineEndVariants(challenge)) {
    check = await verifyVariant(deps, { ...holder, challenge: each, signature: signature.trim() })
    if (check.kind !== 'invalid') break
  }
  return check
}

/** Browsers send line ends of a form as CR LF (HTML 4.10.21.4), while the signed challenge may contain LF: try both. */
function lineEndVariants(challenge: string): Set<string> {
  return new Set([challenge, challenge.replaceAll('\r\n', '\n')])
}

/** The key to verify with: a given one, or that of the named agent. In the latter case the DID must match as well. */
async function keyToVerifyWith(deps: PageReadDeps, agent: string) {
  const key = agent.trim()
  if (decodeKey(key) !== null) return { publicKey: key }
  const found = await checkAgent(deps, agent)
  if (found.kind !== 'found') return found
  const { publicKey, tail } = found.view.agent
  const { naming } = deps.site
  return {
    publicKey: encodeBase64(publicKey),
    [naming.didField]: didOfAgent(deps.site, tail),
  }
}

async function verifyVariant(
  { verify }: SignatureCheckDeps,
  request: VerifyRequest,
): Promise<SignatureCheck> {
  try {
    return { kind: 'valid', answer: await verify(request) }
  } catch (error) {
    if (!(error instanceof CodedError)) throw error
    if (error.code === 'INVALID_SIGNATURE') return { kind: 'invalid' }
    if (error.code === 'NOT_FOUND') return { kind: 'uncertified' }
    if (error.code === 'VALIDATION_ERROR') return { kind: 'malformed', message: error.message }
    throw error
  }
}
