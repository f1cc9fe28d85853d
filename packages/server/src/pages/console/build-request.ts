import {
  agentKeySetUrl,
  CodedError,
  type SignatureAgent,
  type SignedRequest,
} from '@countersign/protocol'
import type { Site } from '../../base/site.ts'
import { requestOf } from '../entered-request.ts'
import type { ConsoleForm } from './console-form.ts'
import { simulatedChain } from './simulated-chain.ts'
import { type SimulatedSigner, simulatedSigner } from './simulated-signer.ts'

/** A request as the simulated gateway receives it. */
export interface SimulatedRequest {
  readonly request: SignedRequest
  /** The key that signed it; null if the console did not sign it. */
  readonly signer: SimulatedSigner | null
  /** The root of its chain, which counts in this simulation alone: the service has not signed it. Null without one. */
  readonly certificate: string | null
}

/** How a caller identifies itself. `delegate`: a key to which the agent has delegated; `directory`: a key of this key directory. */
export type Identification =
  | { readonly kind: 'none' }
  | { readonly kind: 'header' | 'signature' | 'delegate'; readonly did: string }
  | { readonly kind: 'directory'; readonly url: string }

/**
 * Builds a request of a caller.
 * @throws CodedError VALIDATION_ERROR for the request of the form
 */
export async function buildRequest(
  site: Site,
  plain: SignedRequest,
  caller: Identification,
): Promise<SimulatedRequest> {
  const { naming, baseUrl } = site
  const { href, host } = new URL(plain.url)
  const headers: [string, string][] = [['Host', host]]
  if (caller.kind === 'header') headers.push([naming.idHeader, caller.did])
  const request = { ...plain, url: href.replace(/#.*$/s, ''), headers }
  if (caller.kind === 'none' || caller.kind === 'header') {
    return { request, signer: null, certificate: null }
  }
  const signer = simulatedSigner(naming)
  if (caller.kind === 'delegate') {
    const delegate = simulatedSigner(naming)
    const { certificate, chain } = await simulatedChain(
      signer,
      delegate,
      caller.did,
      plain.audience,
    )
    headers.push([naming.idHeader, caller.did], [naming.tokenHeaders.certificate, chain])
    const signed = await delegate.sign(request, agentAt(baseUrl, caller.did))
    return { request: signed, signer, certificate }
  }
  const signatureAgent =
    caller.kind === 'directory'
      ? ({ dialect: 'ietf', url: caller.url } as const)
      : agentAt(baseUrl, caller.did)
  return { request: await signer.sign(request, signatureAgent), signer, certificate: null }
}

function agentAt(baseUrl: string, did: string): SignatureAgent {
  return { dialect: 'ietf', url: agentKeySetUrl(baseUrl, did.slice(-24)) }
}

/** The methods that a site sees most: one that changes nothing, and one that does. */
const METHODS = ['GET', 'POST']

/**
 * The requests of the form: one, or one for each of the usual methods if it names none.
 * @param headers raw lines, `Name: value`
 * @param audience the origin of the site
 * @throws CodedError VALIDATION_ERROR
 */
export function requestsOf(
  form: ConsoleForm,
  headers: string,
  audience: string,
): [SignedRequest, ...SignedRequest[]] {
  const [, method = '', address = ''] = /^(?:(\S+)\s+)?(\S+)$/.exec(form.request) ?? []
  if (address === '') {
    throw new CodedError('VALIDATION_ERROR', 'Enter a path, or a method and a path.')
  }
  const url = address.startsWith('/') ? audience + address : address
  const [first = 'GET', ...others] = method === '' ? METHODS : [method]
  const requestBy = (each: string) => requestOf({ method: each, url, headers, audience })
  return [requestBy(first), ...others.map(requestBy)]
}
