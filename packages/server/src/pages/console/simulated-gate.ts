import { setImmediate } from 'node:timers/promises'
import {
  type Decision,
  type Denial,
  denialFor,
  Gate,
  type GatewayOptions,
  type GatewayRequest,
  isPreflight,
  isSigned,
  type Policy,
  type PolicyInput,
  RouteMatcher,
  type Rules,
} from '@countersign/gateway/internal'
import type { RawRequest, SignedRequest } from '@countersign/protocol'
import { providerLabel } from '../../accounts/identity-of-owner.ts'
import type { AgentView } from '../../agents/agent-record.ts'
import { rawRequestOf } from '../../agents/verification/verify-signed-request.ts'
import type { Site } from '../../base/site.ts'
import type { SimulatedRequest } from './build-request.ts'
import type { EnteredPolicy } from './entered-policy.ts'
import {
  type ConsoleReadDeps,
  type ReadModelRegistry,
  readModelRegistry,
} from './read-model-registry.ts'

/** What a gateway does with a request. */
export interface Decided {
  readonly request: SignedRequest
  /** The position of the route whose rules apply; null if those of the policy do, `all` if it is ambiguous which. */
  readonly route: number | 'all' | null
  readonly decision: Decision
  /** Null if the request is passed on. */
  readonly denial: Denial | null
  /** The headers that the gateway sets for the site, if the request is passed on. */
  readonly forwarded: readonly (readonly [name: string, value: string])[]
}

/** The world around a simulated gateway. */
export interface Surroundings {
  /** An agent that does not exist, by its DID. */
  readonly sampleOf: (did: string, rules: Rules) => AgentView | undefined
  /** The service has become unreachable since the last request. */
  readonly isAway: boolean
  /** The signature was used before. */
  readonly isReplay: boolean
}

/**
 * Decides on a request as a gateway with this policy does. Nothing is fetched or recorded.
 * @throws CodedError, StorageFailure for faults of the service
 */
export async function decideOn(
  read: ConsoleReadDeps,
  { input, audiences, policy }: EnteredPolicy,
  { request, signer, certificate }: SimulatedRequest,
  { sampleOf, isAway, isReplay }: Surroundings,
): Promise<Decided> {
  // A page takes many decisions. Other requests are answered between them.
  await setImmediate()
  const raw = rawRequestOf(request)
  const route = routeOf(policy, raw)
  const rules = typeof route === 'number' ? (policy.routes[route] ?? policy) : policy
  const registry = readModelRegistry(read, {
    sampleOf: (did) => sampleOf(did, rules),
    signer,
    certificate,
  })
  const options: GatewayOptions = {
    policy: withoutLog(input),
    audiences,
    service: registry,
    // Records nothing.
    nonces: { record: () => (isReplay ? 'used' : 'fresh') },
    fetchDirectory: async () => {
      if (signer !== null) return signer.directory()
      throw new Error('the console fetches nothing')
    },
  }
  const gate = isAway ? await gateWithoutService(options, registry, request) : new Gate(options)
  const { decision, forwarded } = await gate.decide(gatewayRequest(gate, request))
  if (registry.failures.length > 0) throw registry.failures[0]
  const denial = decision.admitted
    ? null
    : denialFor(decision, gate, fieldsOf(request)('accept'), () => raw)
  return {
    request,
    route,
    decision: withLabels(read.site, decision),
    denial,
    forwarded: forwarded.map(([name, value]) => [name, value]),
  }
}

/** A gateway knows identity providers by their ids only. */
function withLabels(site: Site, decision: Decision): Decision {
  const [first, ...others] = decision.reasons
  const labelled = ({ code, message }: typeof first) => ({
    code,
    message: message.replace(/(?<=verified by )[\w-]+/, (id) => providerLabel(site, id)),
  })
  return { ...decision, reasons: [labelled(first), ...others.map(labelled)] }
}

/** Keys count as logged: a simulated signature is by a temporary key. */
function withoutLog(policy: PolicyInput): PolicyInput {
  const routes = policy.routes?.map((each) => ({ ...each, requireLogged: null }))
  return { ...policy, requireLogged: null, ...(routes && { routes }) }
}

/** A gateway that got an answer about the agent, which is no longer fresh, before the service became unreachable. */
async function gateWithoutService(
  options: GatewayOptions,
  registry: ReadModelRegistry,
  request: SignedRequest,
): Promise<Gate> {
  // Another limit, so that the first request does not count.
  const limit = { requests: 1_000_000, seconds: 86_400 }
  const before = new Gate({ ...options, policy: { ...options.policy, limit } })
  await before.decide(gatewayRequest(before, request))
  registry.isAway = true
  const laterMs = (before.policy.cacheSeconds + 1) * 1000
  return new Gate({ ...options, now: () => performance.now() + laterMs }, before)
}

function routeOf(policy: Policy, { method, target }: RawRequest): Decided['route'] {
  const index = new RouteMatcher(policy).find(method, target)
  if (index === null) return 'all'
  return index < policy.routes.length ? index : null
}

function gatewayRequest(gate: Gate, request: SignedRequest): GatewayRequest {
  const field = fieldsOf(request)
  const raw = rawRequestOf(request)
  return {
    method: raw.method,
    target: raw.target,
    identification: field(gate.idHeader),
    authorization: null,
    address: () => null,
    preflight: isPreflight(raw.method, { get: field }),
    signed: isSigned({ get: field }),
    raw: () => raw,
    // Only the headers were given.
    readBody: null,
  }
}

/** Reads a header by its name in lower case: null if there is none, joined with commas if it is repeated. */
function fieldsOf({ headers }: SignedRequest): (lower: string) => string | null {
  return (lower) => {
    const values = headers.filter(([name = '']) => name.toLowerCase() === lower)
    return values.length === 0 ? null : values.map(([, value = '']) => value.trim()).join(', ')
  }
}
