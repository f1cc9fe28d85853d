import type { Policy } from '@countersign/gateway/internal'
import {
  agentKeySetUrl,
  CodedError,
  didOf,
  type Naming,
  parseDidOrTail,
  type SignedRequest,
} from '@countersign/protocol'
import type { PageReadDeps } from '../../agents/find-agent.ts'
import { didOfAgent } from '../../core/site.ts'
import { type AgentCheck, checkAgent } from '../check-agent.ts'
import { requestOf } from '../check-request.ts'
import { CALLERS, type CallerKind, type ConsoleForm } from './console-form.ts'
import { type SimulatedSigner, simulatedSigner } from './simulated-signer.ts'

/** A request as the simulated gateway receives it, and who sends it. */
export interface SimulatedRequest {
  readonly caller: CallerKind
  /** The agent that sends it; null if no agent does, or if the request was pasted. */
  readonly agent: SimulatedAgent | null
  readonly request: SignedRequest
  /** The key that signed it; null if the console did not sign it. */
  readonly signer: SimulatedSigner | null
}

interface SimulatedAgent {
  readonly did: string
  readonly keySequence: number
}

/** Why a text names no agent. `unknown-name`: a name or key that no agent has, from which no DID follows. */
export type AgentFault =
  | Exclude<AgentCheck, { kind: 'found' | 'unknown' }>
  | { readonly kind: 'unknown-name' }

/**
 * Builds the request that the form describes.
 * @throws CodedError VALIDATION_ERROR for the input; StorageFailure
 */
export async function buildRequest(
  read: PageReadDeps,
  form: ConsoleForm,
  policy: Policy,
): Promise<SimulatedRequest | AgentFault> {
  const { naming, baseUrl } = read.site
  const caller = CALLERS.find((each) => each === form.caller) ?? CALLERS[0]
  if (caller === 'pasted') {
    return { caller, agent: null, request: pastedRequest(form, policy), signer: null }
  }
  const agent = NAMES_AGENT.includes(caller) ? await findSimulatedAgent(read, form.agent) : null
  if (agent !== null && 'kind' in agent) return agent
  const request = plainRequest(form, policy, naming, caller, agent)
  const issuer = caller === 'directory' ? directoryOf(policy) : keySetOf(baseUrl, agent)
  if (issuer === null || (caller !== 'signature' && caller !== 'directory')) {
    return { caller, agent, request, signer: null }
  }
  const signer = simulatedSigner(naming)
  const signed = await signer.sign(request, { dialect: 'ietf', url: issuer })
  return { caller, agent, request: signed, signer }
}

const NAMES_AGENT: readonly CallerKind[] = ['signature', 'session', 'header']

function keySetOf(baseUrl: string, agent: SimulatedAgent | null): string | null {
  return agent && agentKeySetUrl(baseUrl, agent.did.slice(-24))
}

/** @throws CodedError VALIDATION_ERROR */
function directoryOf({ directories: [directory] }: Policy): string {
  if (directory !== undefined) return directory.url
  throw refusal('Enter a key directory in the policy, so that one of its keys can sign.')
}

/** @throws CodedError VALIDATION_ERROR */
async function findSimulatedAgent(
  read: PageReadDeps,
  text: string,
): Promise<SimulatedAgent | AgentFault> {
  const { site } = read
  if (text === '') throw refusal('Enter an agent, or choose a request without one.')
  const check = await checkAgent(read, text)
  if (check.kind === 'found') {
    const { tail, profile } = check.view.agent
    return { did: didOfAgent(site, tail), keySequence: profile.keySequence }
  }
  if (check.kind !== 'unknown') return check
  const tail = parseDidOrTail(site.naming, text)
  return tail === null
    ? { kind: 'unknown-name' }
    : { did: didOf(site.naming, tail), keySequence: 1 }
}

/** @throws CodedError VALIDATION_ERROR */
function pastedRequest(form: ConsoleForm, policy: Policy): SignedRequest {
  if (form.headers.trim() === '') throw refusal('Paste the headers of a request.')
  return requestOf({ ...form, url: urlIn(form, policy), audience: form.origin })
}

/** @throws CodedError VALIDATION_ERROR */
function plainRequest(
  form: ConsoleForm,
  policy: Policy,
  { idHeader }: Naming,
  caller: CallerKind,
  agent: SimulatedAgent | null,
): SignedRequest {
  const sent = { ...form, url: urlIn(form, policy), headers: '', audience: form.origin }
  const request = requestOf(sent)
  const { href, host } = new URL(request.url)
  const headers = [
    ['Host', host],
    ...(agent !== null && caller === 'header' ? [[idHeader, agent.did]] : []),
    ...(agent !== null && caller === 'session' ? [['Authorization', 'Bearer session']] : []),
  ]
  return { ...request, url: href.replace(/#.*$/s, ''), headers }
}

/** Default: the route's path at the origin of the site. */
function urlIn({ url, origin }: ConsoleForm, { routes: [route] }: Policy): string {
  if (url !== '') return url
  const path = route?.path.replace(/\/\*$/, '/') ?? '/'
  return `${origin === '' ? 'https://site.example' : new URL(origin).origin}${path}`
}

function refusal(message: string): CodedError {
  return new CodedError('VALIDATION_ERROR', message)
}
