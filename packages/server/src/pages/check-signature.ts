import {
  CodedError,
  type Did,
  decodeKey,
  decodeSignature,
  encodeBase64,
  type VerifyRequest,
  type VerifyResponse,
} from '@countersign/protocol'
import type { PageReadDeps } from '../agents/find-agent.ts'
import type { BoundChallengeDeps } from '../agents/verification/bound-challenge.ts'
import { didOfAgent } from '../base/site.ts'
import { type AgentCheck, checkAgent } from './check-agent.ts'
import { stateOfChallenge, type UsedChallenges } from './check-challenge.ts'

export interface SignatureCheckDeps {
  readonly read: PageReadDeps
  readonly challenges: BoundChallengeDeps
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
  /** `isOwnText`: the challenge is not one of this page, so the page cannot tell whether it was used before. */
  | { readonly kind: 'valid'; readonly answer: VerifyResponse; readonly isOwnText: boolean }
  | { readonly kind: 'invalid' }
  /** The challenge of this page is over, was answered before in this browser, or was made for another agent. */
  | { readonly kind: 'expired' | 'used' | 'foreign' }
  /** The signature is valid, but no agent has this key. */
  | { readonly kind: 'uncertified' }
  /** The text in the field for the signature is not one. */
  | { readonly kind: 'unreadable-signature' }
  | { readonly kind: 'malformed'; readonly message: string }
  | Exclude<AgentCheck, { kind: 'found' }>

/**
 * Verifies a pasted challenge and signature.
 * @param used the challenges that were answered before in this browser
 * @throws CodedError, StorageFailure for faults of the service, never for the input
 */
export async function checkSignature(
  deps: SignatureCheckDeps,
  { agent, challenge, signature }: SignatureForm,
  used: UsedChallenges,
): Promise<SignatureCheck> {
  const found = await keyToVerifyWith(deps.read, agent)
  if ('kind' in found) return found
  const { did, ...key } = found
  const state =
    did === null
      ? ({ kind: 'own' } as const)
      : stateOfChallenge(deps.challenges, did, challenge.trim(), used)
  if (state.kind === 'expired' || state.kind === 'used' || state.kind === 'foreign') {
    return { kind: state.kind }
  }
  if (decodeSignature(signature.trim()) === null) return { kind: 'unreadable-signature' }
  const isOwnText = state.kind === 'own'
  let check: SignatureCheck = { kind: 'invalid' }
  for (const each of isOwnText ? lineEndVariants(challenge) : [challenge.trim()]) {
    const request = { ...key, challenge: each, signature: signature.trim() }
    check = await verifyVariant(deps, request, isOwnText)
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
  const found = await checkAgent(deps, agent)
  const key = agent.trim()
  if (decodeKey(key) !== null && found.kind !== 'found') return { did: null, publicKey: key }
  if (found.kind !== 'found') return found
  const { publicKey, tail } = found.view.agent
  const { naming } = deps.site
  const did: Did = didOfAgent(deps.site, tail)
  return { did, publicKey: encodeBase64(publicKey), [naming.didField]: did }
}

async function verifyVariant(
  { verify }: SignatureCheckDeps,
  request: VerifyRequest,
  isOwnText: boolean,
): Promise<SignatureCheck> {
  try {
    return { kind: 'valid', answer: await verify(request), isOwnText }
  } catch (error) {
    if (!(error instanceof CodedError)) throw error
    if (error.code === 'INVALID_SIGNATURE') return { kind: 'invalid' }
    if (error.code === 'NOT_FOUND') return { kind: 'uncertified' }
    if (error.code === 'VALIDATION_ERROR') return { kind: 'malformed', message: error.message }
    throw error
  }
}
