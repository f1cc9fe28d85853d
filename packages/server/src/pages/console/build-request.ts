import { agentKeySetUrl, CodedError, type SignedRequest } from '@countersign/protocol'
import type { Site } from '../../base/site.ts'
import { requestOf } from '../entered-request.ts'
import type { ConsoleForm } from './console-form.ts'
import { type SimulatedSigner, simulatedSigner } from './simulated-signer.ts'

/** A request as the simulated gateway receives it. */
export interface SimulatedRequest {
  readonly request: SignedRequest
  /** The key that signed it; null if the console did not sign it. */
  readonly signer: SimulatedSigner | null
}

/** How a caller identifies itself. `directory`: by a signature with a key of this key directory. */
export type Identification =
  | { readonly kind: 'none' }
  | { readonly kind: 'header' | 'signature'; readonly did: string }
  | { readonly kind: 'directory'; readonly url: string }

/**
 * Builds a request of a caller.
 * @throws CodedError VALIDATION_ERROR for the request of the form
 */
export async function buildRequest(
  { naming, baseUrl }: Site,
  plain: SignedRequest,
  caller: Identification,
): Promise<SimulatedRequest> {
  const { href, host } = new URL(plain.url)
  const headers: [string, string][] = [['Host', host]]
  if (caller.kind === 'header') headers.push([naming.idHeader, caller.did])
  const request = { ...plain, url: href.replace(/#.*$/s, ''), headers }
  if (caller.kind !== 'signature' && caller.kind !== 'directory') return { request, signer: null }
  const signer = simulatedSigner(naming)
  const keys =
    caller.kind === 'directory' ? caller.url : agentKeySetUrl(baseUrl, caller.did.slice(-24))
  return { request: await signer.sign(request, { dialect: 'ietf', url: keys }), signer }
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
