import {
  type Decision,
  type Denial,
  denialFor,
  Gate,
  type GatewayOptions,
  type GatewayRequest,
  isPreflight,
  isSigned,
  POLICY_FIELDS,
  type Policy,
  PolicyError,
  type PolicyInput,
  type Route,
  RouteMatcher,
  RULE_FIELDS,
} from '@countersign/gateway/internal'
import { CodedError, type RawRequest, type SignedRequest } from '@countersign/protocol'
import type { PageReadDeps } from '../../agents/find-agent.ts'
import { rawRequestOf } from '../../agents/verification/verify-signed-request.ts'
import {
  type AgentFault,
  buildRequest,
  originsIn,
  type SimulatedAgent,
  type SimulatedRequest,
} from './build-request.ts'
import { configurationsOf, type Target } from './configuration.ts'
import { type CallerKind, type ConsoleForm, fieldOf, policyOfForm } from './console-form.ts'
import { consoleLink } from './console-link.ts'
import { type SortedMistakes, sortMistakes } from './field-mistakes.ts'
import { isRecord } from './policy-codecs.ts'
import { type ReadModelRegistry, readModelRegistry } from './read-model-registry.ts'

/** What the page shows. */
export interface ConsoleState {
  readonly form: ConsoleForm
  /** Null if nothing is to be decided yet. */
  readonly answer: ConsoleAnswer | null
  /** Why a pasted policy was not loaded, or not completely, in sentences. */
  readonly problems: readonly string[]
}

export type ConsoleAnswer =
  /** What the gateway's reader says about the policy. */
  | { readonly kind: 'invalid'; readonly mistakes: SortedMistakes }
  | {
      readonly kind: 'valid'
      readonly policy: Policy
      /** The path of the address that shows this answer; null if it would be too long. */
      readonly link: string | null
      /** What to write into the site's code, or into the file of `countersign-gateway`. */
      readonly configurations: Readonly<Record<Target, string>>
      readonly simulation: Simulation
    }

export type Simulation = Simulated | AgentFault | { kind: 'malformed'; readonly message: string }

export interface Simulated {
  readonly kind: 'decided'
  readonly caller: CallerKind
  readonly agent: SimulatedAgent | null
  readonly request: SignedRequest
  /** The position of the route whose rules apply; null if those of the policy do, `all` if it is ambiguous which. */
  readonly route: number | 'all' | null
  readonly decision: Decision
  /** Null if the request is passed on. */
  readonly denial: Denial | null
  /** The headers that the gateway sets for the site, if the request is passed on. */
  readonly forwarded: readonly (readonly [name: string, value: string])[]
}

/**
 * Decides on the request of the form as a gateway with the policy of the form does. Nothing is fetched or recorded.
 * @throws CodedError, StorageFailure for faults of the service, never for the input
 */
export async function simulate(read: PageReadDeps, form: ConsoleForm): Promise<ConsoleAnswer> {
  const options = { policy: policyOfForm(form), audiences: originsIn(form) }
  const policy = readPolicy(read, options)
  if (policy instanceof PolicyError) {
    return { kind: 'invalid', mistakes: sortMistakes(form, policy.mistakes) }
  }
  const origins = options.audiences.map((each) => new URL(each).origin)
  const written = withoutDefaults(policy)
  const simulation = await simulateRequest(read, form, options, policy)
  const isLinkable = simulation.kind === 'decided' && simulation.caller !== 'pasted'
  return {
    kind: 'valid',
    policy,
    link: consoleLink(form, written, isLinkable),
    configurations: configurationsOf(read.site, origins, written),
    simulation,
  }
}

/** What the gateway's reader says about a policy. */
export function policyMistakes(read: PageReadDeps, policy: unknown): readonly string[] {
  // Whether the origins suffice is said of the form.
  const result = readPolicy(read, {
    policy: policy as PolicyInput,
    audiences: ['https://a.example'],
  })
  return result instanceof PolicyError ? result.mistakes : []
}

/** Without sessions, so that the policy is valid with the configuration that is shown. */
function readPolicy(read: PageReadDeps, options: FormOptions): Policy | PolicyError {
  const service = readModelRegistry(read, { agent: null, signer: null })
  try {
    return new Gate({ ...options, service }).policy
  } catch (error) {
    if (error instanceof PolicyError) return error
    throw error
  }
}

type FormOptions = Required<Pick<GatewayOptions, 'policy' | 'audiences'>>

async function simulateRequest(
  read: PageReadDeps,
  form: ConsoleForm,
  options: FormOptions,
  policy: Policy,
): Promise<Simulation> {
  try {
    const built = await buildRequest(read, form, policy)
    if ('kind' in built) return built
    const registry = readModelRegistry(read, built)
    const parts = {
      ...options,
      policy: withoutLog(options.policy),
      ...simulatedParts(built),
      service: registry,
    }
    const gate =
      fieldOf(form, 'away') === ''
        ? new Gate(parts)
        : await gateWithoutService(parts, registry, built)
    return await decideOn(gate, registry, built)
  } catch (error) {
    if (!(error instanceof CodedError) || error.code !== 'VALIDATION_ERROR') throw error
    return { kind: 'malformed', message: error.message }
  }
}

/** Keys count as logged: a simulated signature is by a temporary key. */
function withoutLog(policy: PolicyInput = {}): PolicyInput {
  const routes = policy.routes?.map((each) => ({ ...each, requireLogged: null }))
  return { ...policy, requireLogged: null, ...(routes && { routes }) }
}

/** What a gateway asks besides the service. */
function simulatedParts({ caller, agent, signer }: SimulatedRequest): Partial<GatewayOptions> {
  return {
    // Records nothing.
    nonces: { record: () => 'fresh' },
    fetchDirectory: async () => {
      if (caller === 'directory' && signer !== null) return signer.directory()
      throw new Error('the console fetches nothing')
    },
    ...(caller === 'session' && { sessions: { session: async () => agent } }),
  }
}

/** A gateway that got an answer about the agent, which is no longer fresh, before the service became unreachable. */
async function gateWithoutService(
  options: GatewayOptions,
  registry: ReadModelRegistry,
  built: SimulatedRequest,
): Promise<Gate> {
  // Another limit, so that the first request does not count.
  const limit = { requests: 1_000_000, seconds: 86_400 }
  const before = new Gate({ ...options, policy: { ...options.policy, limit } })
  await before.decide(gatewayRequest(before, built.request))
  registry.isAway = true
  const laterMs = (before.policy.cacheSeconds + 1) * 1000
  return new Gate({ ...options, now: () => performance.now() + laterMs }, before)
}

async function decideOn(
  gate: Gate,
  { failures }: ReadModelRegistry,
  { caller, agent, request }: SimulatedRequest,
): Promise<Simulation> {
  const raw = rawRequestOf(request)
  const { decision, forwarded } = await gate.decide(gatewayRequest(gate, request))
  if (failures.length > 0) throw failures[0]
  const accept = fieldsOf(request)('accept')
  const denial = denialFor(decision, gate, accept, () => raw)
  const headers = forwarded.map(([name, value]) => [name, value] as const)
  const route = routeOf(gate.policy, raw)
  return { kind: 'decided', caller, agent, request, route, decision, denial, forwarded: headers }
}

function routeOf(policy: Policy, { method, target }: RawRequest): Simulated['route'] {
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
    authorization: gate.accepts.sessions ? field('authorization') : null,
    address: () => null,
    preflight: isPreflight(raw.method, field),
    signed: isSigned(field),
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

const RULE_NAMES = Object.keys(RULE_FIELDS) as (keyof typeof RULE_FIELDS)[]
const POLICY_NAMES = Object.keys(POLICY_FIELDS) as (keyof typeof POLICY_FIELDS)[]

/** A policy as one writes it: without the fields that have their default, and in routes without those of the policy itself. */
function withoutDefaults(policy: Policy): PolicyInput {
  const others = POLICY_NAMES.map((name) => [
    name,
    changed(name, policy[name], POLICY_FIELDS[name].defaultValue),
  ])
  const rules = RULE_NAMES.map((name) => [
    name,
    changed(name, policy[name], RULE_FIELDS[name].defaultValue),
  ])
  const routes = policy.routes.map((route) => routeWithoutDefaults(route, policy))
  return given({
    ...Object.fromEntries([...others, ...rules]),
    routes: routes.length === 0 ? undefined : routes,
  }) as PolicyInput
}

function routeWithoutDefaults(route: Route, policy: Policy): object {
  return given({
    path: route.path,
    methods: route.methods ?? undefined,
    ...Object.fromEntries(
      RULE_NAMES.map((name) => [name, changed(name, route[name], policy[name])]),
    ),
  })
}

/** Undefined if the value is the default; of an object whose omitted members have their default, the members that differ. */
function changed(name: string, value: unknown, usual: unknown): unknown {
  if (JSON.stringify(value) === JSON.stringify(usual)) return undefined
  const isMerged = name === 'levels' || name === 'limit'
  if (!isMerged || !isRecord(value) || !isRecord(usual)) return value
  return Object.fromEntries(Object.entries(value).filter(([key, each]) => each !== usual[key]))
}

function given(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
