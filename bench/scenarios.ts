/** A figure that the project aims for. */
export interface Aim {
  /**
   * `ceilingByCpu`: the ceiling, by processor time. `oneByCpu`: one process, by processor time, times the number of processes.
   */
  readonly of: 'ceiling' | 'ceilingByCpu' | 'naive' | 'one' | 'oneByCpu' | 'perSecond'
  readonly atLeast: number
  /** If it depends on the database. */
  readonly on?: 'sqlite' | 'postgres'
}

interface ScenarioBase {
  readonly title: string
  readonly aims: readonly Aim[]
}

/** Two nodes, whose load has a core of its own. */
const NEARLY_TWICE_ONE: Aim = { of: 'oneByCpu', atLeast: 1.8 }

/** A GET of the path `before` + tail + `after`. */
export interface ReadScenario extends ScenarioBase {
  readonly kind: 'read'
  readonly before: string
  readonly after: string
  readonly headers: Readonly<Record<string, string>>
  /** Whether to request one agent repeatedly, or all of them in turn. */
  readonly over: 'one' | 'all'
}

export interface VerifyScenario extends ScenarioBase {
  readonly kind: 'verify'
}

export interface ClaimScenario extends ScenarioBase {
  readonly kind: 'claim'
  /** Whether each claim has a new key, or one of 64 that already have certificates. */
  readonly keys: 'fresh' | 'known'
}

/** The database work of a claim, without HTTP and signatures. */
interface TransactionScenario extends ScenarioBase {
  readonly kind: 'transaction'
}

/** MultiProcess processes compared with one, for another measurement. */
export interface ScaleScenario extends ScenarioBase {
  readonly kind: 'scale'
  /** Whether they share a port (WORKERS) or a PostgreSQL. */
  readonly by: 'workers' | 'nodes'
  readonly asks: 'lookup' | 'verify'
}

/** A site with a gateway. Its ceiling is the same site without one. */
export interface GatewayScenario extends ScenarioBase {
  readonly kind: 'gateway'
  readonly framework: 'express' | 'fastify'
  /** Whether the gateway caches one agent, or looks another one up for every request. */
  readonly cached: boolean
}

/**
 * Signed requests. Behind a middleware, the ceiling is the same site that only verifies one signature for each request;
 * countersign-gateway (`command`) has none.
 */
export interface ProofScenario extends ScenarioBase {
  readonly kind: 'proof'
  readonly site: 'express' | 'fastify' | 'command'
  /** Whether requests are signed, or only name the agent. */
  readonly signed: boolean
  /** Whether the package sodium-native is there for the gateway. */
  readonly sodium: boolean
}

/** Certificates of all agents in turn: a GET of the path `before` + tail + `after`. The ceiling makes one Ed25519 signature for each response. */
export interface IssueScenario extends ScenarioBase {
  readonly kind: 'issue'
  readonly before: string
  readonly after: string
}

export type Scenario =
  | ReadScenario
  | VerifyScenario
  | ClaimScenario
  | TransactionScenario
  | ScaleScenario
  | GatewayScenario
  | ProofScenario
  | IssueScenario

const DID_PREFIX = 'svc:agent:'
const TWICE_NAIVE: Aim = { of: 'naive', atLeast: 2 }
/** With 128 requests in flight. */
const CLAIMS: readonly Aim[] = [
  { of: 'perSecond', atLeast: 15_000, on: 'sqlite' },
  { of: 'perSecond', atLeast: 20_000, on: 'postgres' },
]

const BUILT_ONCE: readonly Aim[] = [{ of: 'ceiling', atLeast: 0.8 }]
/** Of what one core can do: HTTP, two operations on the curve, and a group commit. */
const OF_ONE_CORE: readonly Aim[] = [{ of: 'ceiling', atLeast: 0.8 }]
/** What a gateway with a cached answer leaves of the site. */
const NEARLY_FREE: readonly Aim[] = [{ of: 'ceilingByCpu', atLeast: 0.95 }]
const read = { kind: 'read', after: '', headers: {}, over: 'all', aims: [] } as const

/** All measurements, in the order of the report. */
export const SCENARIOS = {
  'lookup-hot': {
    ...read,
    title: 'lookup, one agent',
    before: `/api/v1/agent/${DID_PREFIX}`,
    over: 'one',
    aims: [TWICE_NAIVE],
  },
  lookup: {
    ...read,
    title: 'lookup, all agents',
    before: `/api/v1/agent/${DID_PREFIX}`,
    aims: [{ of: 'ceiling', atLeast: 0.95 }, TWICE_NAIVE],
  },
  'lookup-encoded': {
    ...read,
    title: 'lookup, all agents, %3A for :',
    before: `/api/v1/agent/${encodeURIComponent(DID_PREFIX)}`,
    aims: [TWICE_NAIVE],
  },
  card: {
    ...read,
    title: 'card, all agents',
    before: `/api/agents/${DID_PREFIX}`,
    after: '/card',
    aims: BUILT_ONCE,
  },
  'did-document': {
    ...read,
    title: 'DID document, all agents',
    before: `/api/agents/${DID_PREFIX}`,
    headers: { Accept: 'application/did+json' },
    aims: BUILT_ONCE,
  },
  verify: {
    kind: 'verify',
    title: 'verify',
    aims: [{ of: 'ceiling', atLeast: 0.95 }, TWICE_NAIVE],
  },
  certificate: {
    kind: 'issue',
    title: 'certificate, all agents',
    before: `/api/v1/agent/${DID_PREFIX}`,
    after: '/certificate',
    aims: [{ of: 'ceiling', atLeast: 0.7 }],
  },
  claim: {
    kind: 'claim',
    title: 'claim, a fresh key each',
    keys: 'fresh',
    aims: OF_ONE_CORE,
  },
  'claim-known': {
    kind: 'claim',
    title: 'claim, 64 known keys',
    keys: 'known',
    aims: OF_ONE_CORE,
  },
  'claim-transaction': {
    kind: 'transaction',
    title: 'claim transactions, no HTTP, no signatures',
    aims: CLAIMS,
  },
  'workers-lookup': {
    kind: 'scale',
    title: 'lookup, all agents, workers',
    by: 'workers',
    asks: 'lookup',
    aims: [],
  },
  'workers-verify': {
    kind: 'scale',
    title: 'verify, workers',
    by: 'workers',
    asks: 'verify',
    aims: [{ of: 'one', atLeast: 1.7 }],
  },
  'nodes-lookup': {
    kind: 'scale',
    title: 'lookup, all agents, nodes',
    by: 'nodes',
    asks: 'lookup',
    aims: [NEARLY_TWICE_ONE],
  },
  'nodes-verify': {
    kind: 'scale',
    title: 'verify, nodes',
    by: 'nodes',
    asks: 'verify',
    aims: [NEARLY_TWICE_ONE],
  },
  'gateway-express': {
    kind: 'gateway',
    title: 'gateway in Express, cached',
    framework: 'express',
    cached: true,
    aims: NEARLY_FREE,
  },
  'gateway-fastify': {
    kind: 'gateway',
    title: 'gateway in Fastify, cached',
    framework: 'fastify',
    cached: true,
    aims: NEARLY_FREE,
  },
  'gateway-uncached': {
    kind: 'gateway',
    title: 'gateway in Express, not cached',
    framework: 'express',
    cached: false,
    aims: [],
  },
  'proof-express': {
    kind: 'proof',
    title: 'signed requests, gateway in Express',
    site: 'express',
    signed: true,
    sodium: false,
    aims: [{ of: 'naive', atLeast: 0.5 }],
  },
  'proof-express-sodium': {
    kind: 'proof',
    title: '… with sodium-native',
    site: 'express',
    signed: true,
    sodium: true,
    aims: [{ of: 'ceiling', atLeast: 0.5 }],
  },
  'proof-fastify': {
    kind: 'proof',
    title: 'signed requests, gateway in Fastify',
    site: 'fastify',
    signed: true,
    sodium: false,
    aims: [{ of: 'naive', atLeast: 0.6 }],
  },
  'proof-fastify-sodium': {
    kind: 'proof',
    title: '… with sodium-native',
    site: 'fastify',
    signed: true,
    sodium: true,
    aims: [{ of: 'ceiling', atLeast: 0.6 }],
  },
  'proof-command': {
    kind: 'proof',
    title: 'signed requests, countersign-gateway',
    site: 'command',
    signed: true,
    sodium: true,
    aims: [],
  },
  'proof-command-unsigned': {
    kind: 'proof',
    title: 'the same, unsigned',
    site: 'command',
    signed: false,
    sodium: true,
    aims: [],
  },
} as const satisfies Record<string, Scenario>

export type ScenarioName = keyof typeof SCENARIOS
export const SCENARIO_NAMES = Object.keys(SCENARIOS) as readonly ScenarioName[]

export const VERIFY_PATH = '/api/v1/agent/verify'
export const CLAIM_PATH = '/api/v1/claim'
