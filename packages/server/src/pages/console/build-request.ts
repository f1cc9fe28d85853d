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
import { didOfAgent } from '../../base/site.ts'
import { type AgentCheck, checkAgent } from '../check-agent.ts'
import { requestOf } from '../check-request.ts'
import { SAMPLE_TAIL } from '../sample.ts'
import { CALLERS, type CallerKind, type ConsoleForm, fieldOf } from './console-form.ts'
import { itemsIn } from './policy-codecs.ts'
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

export interface SimulatedAgent {
  readonly did: string
  readonly keySequence: number
  /** Whether it is that of /sample, which does not exist. */
  readonly isSample: boolean
}

/** Why a text names no agent. `unknown-name`: a name or key that no agent has, from which no DID follows. */
export type AgentFault =
  | Exclude<AgentCheck, { kind: 'found' | 'unknown' | 'free' }>
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
  const caller = CALLERS.find((each) => each === fieldOf(form, 'caller')) ?? CALLERS[0]
  if (caller === 'pasted') {
    return { caller, agent: null, request: pastedRequest(form, policy), signer: null }
  }
  const agent = NAMES_AGENT.includes(caller)
    ? await findSimulatedAgent(read, fieldOf(form, 'agent'))
    : null
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

async function findSimulatedAgent(
  read: PageReadDeps,
  text: string,
): Promise<SimulatedAgent | AgentFault> {
  const { site } = read
  if (text === '') {
    return { did: didOf(site.naming, SAMPLE_TAIL), keySequence: 1, isSample: true }
  }
  const check = await checkAgent(read, text)
  if (check.kind === 'found') {
    const { tail, profile } = check.view.agent
    return { did: didOfAgent(site, tail), keySequence: profile.keySequence, isSample: false }
  }
  if (check.kind === 'free') return { kind: 'unknown-name' }
  if (check.kind !== 'unknown') return check
  const tail = parseDidOrTail(site.naming, text)
  return tail === null
    ? { kind: 'unknown-name' }
    : { did: didOf(site.naming, tail), keySequence: 1, isSample: false }
}

/** @throws CodedError VALIDATION_ERROR */
function pastedRequest(form: ConsoleForm, policy: Policy): SignedRequest {
  const headers = fieldOf(form, 'headers')
  if (headers.trim() === '') throw refusal('Paste the headers of a request.')
  return requestWith(form, policy, headers)
}

/** @throws CodedError VALIDATION_ERROR */
function plainRequest(
  form: ConsoleForm,
  policy: Policy,
  { idHeader }: Naming,
  caller: CallerKind,
  agent: SimulatedAgent | null,
): SignedRequest {
  const request = requestWith(form, policy, '')
  const { href, host } = new URL(request.url)
  const headers = [
    ['Host', host],
    ...(agent !== null && caller === 'header' ? [[idHeader, agent.did]] : []),
    ...(agent !== null && caller === 'session' ? [['Authorization', 'Bearer session']] : []),
  ]
  return { ...request, url: href.replace(/#.*$/s, ''), headers }
}

/** @throws CodedError VALIDATION_ERROR */
function requestWith(form: ConsoleForm, policy: Policy, headers: string): SignedRequest {
  const method = fieldOf(form, 'method')
  return requestOf({
    method,
    url: urlIn(form, policy),
    headers,
    audience: originsIn(form)[0] ?? '',
  })
}

/** Default: the path of the first route, at the first origin of the site. */
function urlIn(form: ConsoleForm, { routes: [route] }: Policy): string {
  const url = fieldOf(form, 'url')
  const [origin = 'https://site.example'] = originsIn(form)
  if (url.startsWith('/')) return new URL(origin).origin + url
  if (url !== '') return url
  const path = route?.path.replace(/\/\*$/, '/') ?? '/'
  return `${new URL(origin).origin}${path}`
}

/** The origins of the site, unchecked. */
export function originsIn(form: ConsoleForm): string[] {
  return itemsIn(fieldOf(form, 'origin'))
}

function refusal(message: string): CodedError {
  return new CodedError('VALIDATION_ERROR', message)
}
