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

/** What somebody has pasted in. */
export interface SignatureQuestion {
  /** A key, or whatever names an agent. */
  readonly agent: string
  readonly challenge: string
  readonly signature: string
}

export type SignatureCheck =
  | { readonly kind: 'valid'; readonly answer: VerifyResponse }
  | { readonly kind: 'invalid' }
  /** Valid, and the key is nobody's here. */
  | { readonly kind: 'uncertified' }
  | { readonly kind: 'malformed'; readonly message: string }
  | Exclude<AgentCheck, { kind: 'found' }>

/**
 * Checks a challenge and its signature for somebody who has nothing but a form in a browser.
 * @throws CodedError and StorageFailure where the service is at fault, never for what was pasted in
 */
export async function checkSignature(
  deps: SignatureCheckDeps,
  { agent, challenge, signature }: SignatureQuestion,
): Promise<SignatureCheck> {
  const holder = await holderOf(deps.read, agent)
  if ('kind' in holder) return holder
  let check: SignatureCheck = { kind: 'invalid' }
  for (const each of readingsOf(challenge)) {
    check = await verifyOne(deps, { ...holder, challenge: each, signature: signature.trim() })
    if (check.kind !== 'invalid') break
  }
  return check
}

/** Forms turn every line end into CR LF (HTML, section 4.10.21.4): what was sent may have had LF. */
function readingsOf(challenge: string): Set<string> {
  return new Set([challenge, challenge.replaceAll('\r\n', '\n')])
}

/** Whose key to check with: one that is named, or the one of an agent that is, whose DID then has to be the answer. */
async function holderOf(deps: PageReadDeps, agent: string) {
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

async function verifyOne(
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
