import { type Delegation, namingFor } from '@countersign/protocol'
import fc from 'fast-check'
import type { Caller, LookupResult } from '../../packages/gateway/src/decision/decide.ts'
import type { AgentData } from '../../packages/gateway/src/decision/decision.ts'
import { LEVELS } from '../../packages/gateway/src/policy/policy.ts'

/** Random policies, requests and agents, always the same ones. For comparing two implementations of the gateway's decisions. */

const SEED = 20_260_101

interface Names {
  readonly shortName: string
  readonly idHeader: string
}

export interface MistakeCase extends Names {
  readonly policy: unknown
}

export interface DecisionCase extends Names {
  readonly policy: unknown
  readonly audiences: readonly string[]
  readonly method: string
  readonly target: string
  readonly headers: readonly (readonly [string, string])[]
  readonly caller: Caller
  readonly result: LookupResult | null
  /** Whether sessions count as proof, and where agents sign in. */
  readonly sessions: boolean
  readonly signInPath: string | null
}

export function decisionCases(count: number): DecisionCase[] {
  return fc.sample(decisionCase, { numRuns: count, seed: SEED })
}

/** Policies, most of them with mistakes. */
export function mistakeCases(count: number): MistakeCase[] {
  return fc.sample(mistakeCase, { numRuns: count, seed: SEED })
}

const names = fc.constantFrom<Names>(
  { shortName: 'svc', idHeader: 'ServiceID' },
  { shortName: 'acme2', idHeader: 'Acme-Agent' },
)
const TAILS = ['7Xk2mPqRs9TuVwYz3AbCdEfG', '8Yk2mPqRs9TuVwYz3AbCdEfH', 'zzzzzzzzzzzzzzzzzzzzzzzz']
const BOTS = 'https://bots.example'
const PROVIDERS = ['bankid', 'in-person', 'world-id']
const GRADES = ['A', 'B', 'C', 'D', 'E'] as const
const PATHS = [
  ...['/', '/a', '/a/', '/A/b', '/api/*', '/api/v1/*', '/*', '/caf%C3%A9', '/a%20b'],
  ...['/a.b', '/~me', '/a,b', "/it's", '/(a)'],
]

const statuses = fc.subarray(['active', 'suspended', 'revoked'] as const)
const message = fc.oneof(
  fc.string({ minLength: 1, maxLength: 40, unit: 'grapheme' }),
  fc.constantFrom('<b>"no" & \'no\'</b>', 'Bitte zahlen. \u2028 \u{1f600}', '\u0001\u007f'),
)
const seconds = fc.oneof(
  fc.integer({ min: 0, max: 2_592_000 }),
  fc.double({ min: 0, max: 1e-3, noNaN: true }),
  fc.double({ min: 0, max: 2_592_000, noNaN: true }),
)

const acceptedChains = fc.record(
  {
    maxDepth: fc.constantFrom(1, 2, 3),
    maxSeconds: fc.constantFrom(1, 3_600, 86_400),
    mcp: fc.boolean(),
  },
  { requiredKeys: [] },
)

/** A chain of a delegate that was verified. */
const delegation = fc
  .record({
    depth: fc.constantFrom(1, 1, 2, 3),
    seconds: fc.constantFrom(1, 3_600, 3_601, 86_400),
    mcp: fc.constantFrom(null, null, ['tools/list']),
  })
  .map(({ depth, seconds, mcp }): Delegation => {
    const limits = { origins: ['https://shop.example'], methods: null, paths: null, mcp }
    const hops = Array.from({ length: depth }, (_, at) => ({
      keyid: String(at).repeat(43),
      issuedAt: 1_800_000_000_000,
      expiresAt: 1_800_000_000_000 + seconds * 1_000,
      maxDepth: depth - at - 1,
      limits,
    }))
    return { depth, keyid: hops.at(-1)?.keyid ?? null, fault: null, hops }
  })

function rules({ shortName }: Names) {
  const dids = fc.subarray([...TAILS, `${shortName}:agent:${TAILS[0]}`])
  const levels = Object.fromEntries(
    LEVELS.map((each) => [each, fc.constantFrom('allow', 'limit', 'deny')]),
  )
  return {
    levels: fc.record(levels, { requiredKeys: [] }),
    statuses,
    minimumGrade: fc.constantFrom(null, ...GRADES),
    minimumKeyAgeSeconds: fc.oneof(fc.constant(0), seconds),
    minimumOwnerAgeSeconds: fc.oneof(fc.constant(0), seconds),
    identityMethods: fc.option(fc.subarray(PROVIDERS, { minLength: 1 })),
    allow: dids,
    deny: dids,
    delegation: fc.option(acceptedChains, { freq: 3 }),
    requireProof: fc.boolean(),
    refusal: fc.option(
      fc.record({ status: fc.constantFrom(402, 403, 404), message }, { requiredKeys: [] }),
    ),
    unreachable: fc.constantFrom('deny', 'flag', 'allow', 'stale'),
    maxStaleSeconds: fc.integer({ min: 0, max: 86_400 }),
  }
}

const directory = fc.record(
  {
    url: fc.constantFrom(BOTS, 'HTTPS://Bots.Example:443/', `${BOTS}/keys?a=b`),
    profile: fc.constantFrom('strict', 'wba'),
    maxLifetimeSeconds: fc.constantFrom(1, 300, 86_400),
  },
  { requiredKeys: ['url'] },
)

function policy(of: Names) {
  const route = fc.record(
    {
      path: fc.constantFrom(...PATHS),
      methods: fc.option(fc.subarray(['GET', 'POST', 'DELETE'], { minLength: 1 })),
      ...rules(of),
    },
    { requiredKeys: ['path'] },
  )
  const fields = {
    ...rules(of),
    mode: fc.constantFrom('enforce', 'enforce', 'shadow'),
    limit: fc.record(
      { requests: fc.integer({ min: 1, max: 9 }), seconds: fc.integer({ min: 1, max: 60 }) },
      { requiredKeys: [] },
    ),
    cacheSeconds: fc.integer({ min: 0, max: 60 }),
    preflight: fc.constantFrom('pass', 'decide'),
    directories: fc.array(directory, { maxLength: 2 }),
    routes: fc.array(route, { maxLength: 3 }),
  }
  return fc.record(fields, { requiredKeys: [] })
}

const target = fc.oneof(
  fc.constantFrom(...PATHS.map((each) => each.replace('*', 'x')), '/api', '/API/V1/', '/a?b=c'),
  fc.constantFrom('//a', '/a/../b', '/a%2Fb', '/it%27s', '/a;b', '/caf%c3%a9', '/caf%C3', '*'),
  fc.webPath(),
)

function agent(did: string): fc.Arbitrary<AgentData> {
  return fc.record({
    did: fc.constant(did),
    status: fc.constantFrom('active', 'active', 'active', 'suspended', 'revoked'),
    verified: fc.boolean(),
    identityMethod: fc.constantFrom(null, ...PROVIDERS, 'Über & Söhne', ''),
    grade: fc.constantFrom(null, ...GRADES),
    keyAgeSeconds: fc.double({ min: -5, max: 3_000_000, noNaN: true }),
    ownerAgeSeconds: fc.option(fc.double({ min: -5, max: 3_000_000, noNaN: true })),
  }) as fc.Arbitrary<AgentData>
}

function callerAndResult({ shortName }: Names) {
  const anonymous = fc.constantFrom<Caller>(
    { kind: 'none' },
    { kind: 'unreadable' },
    { kind: 'conflict' },
    { kind: 'session-ended' },
    { kind: 'directory', url: BOTS },
    { kind: 'signature-invalid', status: 400 },
    { kind: 'signature-invalid', status: 401 },
    { kind: 'signature-invalid', status: 403 },
    { kind: 'certificate-invalid' },
    { kind: 'certificate-replaced' },
    { kind: 'delegation-refused' },
    { kind: 'delegation-limit' },
    { kind: 'delegation-unproven' },
  )
  const named = fc.constantFrom(...TAILS).chain((tail) => {
    const did = `${shortName}:agent:${tail}`
    const known = fc.option(agent(did), { freq: 6 })
    const ageSeconds = fc.double({ min: 0, max: 2_000, noNaN: true })
    const result = fc.oneof(
      { weight: 4, arbitrary: fc.record({ kind: fc.constant('answered'), agent: known }) },
      {
        weight: 1,
        arbitrary: fc.record({
          kind: fc.constant('unreachable'),
          last: fc.option(fc.record({ agent: known, ageSeconds })),
        }),
      },
    )
    const proof = fc.constantFrom('none', 'session', 'signature')
    const named = { kind: fc.constant('named'), did: fc.constant(did) }
    const delegate = fc.record({ ...named, proof: fc.constant('signature'), delegation })
    const caller = fc.oneof(fc.record({ ...named, proof }), delegate)
    return fc.record({ caller, result })
  })
  return fc.oneof(
    { weight: 1, arbitrary: fc.record({ caller: anonymous, result: fc.constant(null) }) },
    { weight: 4, arbitrary: named },
  ) as fc.Arbitrary<{ caller: Caller; result: LookupResult | null }>
}

const headers = fc.subarray([
  ['Accept', 'text/html, application/json'] as const,
  ['content-type', 'application/json'] as const,
  ['Content-Length', '3'] as const,
  ['Authorization', 'Bearer x'] as const,
])

const decisionCase = names.chain((of) =>
  fc
    .record({ policy: policy(of), request: callerAndResult(of), target, headers })
    .chain((drawn) => {
      const method = fc.constantFrom('GET', 'HEAD', 'POST', 'DELETE', 'post', 'M-SEARCH')
      const signInPath = fc.constantFrom(null, '/agent-sign-in')
      return fc.record({ method, sessions: fc.boolean(), signInPath }).map((more): DecisionCase => {
        const { request, ...rest } = drawn
        return { ...of, ...rest, ...request, ...more, audiences: ['https://shop.example'] }
      })
    }),
)

/** A policy in which some values are replaced, and some fields added. */
const mistakeCase = names.chain((of) =>
  policy(of)
    .chain((valid) => {
      const places = placesIn(valid)
      const changes = fc.array(
        fc.record({
          place: fc.nat({ max: places.length - 1 }),
          value: junk,
          name: fc.option(fieldName),
        }),
        { minLength: 2, maxLength: 6 },
      )
      return changes.map((each) => {
        const copy = structuredClone({ root: valid as unknown })
        for (const { place, value, name } of each)
          change(copy, places[place] ?? ['root'], value, name)
        return copy.root
      })
    })
    .map((changed): MistakeCase => ({ ...of, policy: changed })),
)

const junk = fc.oneof(
  fc.constantFrom(null, true, 0, -1, 1e9, 403, 402.5, 'A', 'F', '', 'stale', 'revoked', [], {}),
  fc.constantFrom(['x'], [1, 'GET'], ['get'], [null], { x: 1, 10: 2, 9: 3 }, { status: '403' }),
  fc.constantFrom('/a b', '/a/*/b', 'a', '/%41', '/\u017f', '/\u212a', '/a\n', '/**', '*', '/*'),
  fc.constantFrom('x'.repeat(300), 'x'.repeat(301), '\u{1f600}'.repeat(151), '\ud800'),
  fc.jsonValue(),
)
const fieldName = fc
  .oneof(
    fc.constantFrom('levels', 'limit', 'seconds', 'path', '0', '10', '07', '__proto__x', 'Mode'),
    fc.string({ maxLength: 5 }),
  )
  .filter((each) => each !== '__proto__')

/** Where a value could be replaced: every member, at any depth. */
function placesIn(value: unknown, path: readonly string[] = ['root']): string[][] {
  const inner =
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([name, each]) => placesIn(each, [...path, name]))
      : []
  return [[...path], ...inner]
}

/** Replaces a value, or adds a member to it if `name` is given. What an earlier change has removed stays away. */
function change(tree: object, path: readonly string[], value: unknown, name: string | null): void {
  let parent = tree as Record<string, unknown>
  for (const each of path.slice(0, -1)) {
    if (typeof parent[each] !== 'object' || parent[each] === null) return
    parent = parent[each] as Record<string, unknown>
  }
  const last = path.at(-1) as string
  const found = parent[last]
  if (name === null) parent[last] = value
  else if (typeof found === 'object' && found !== null && !Array.isArray(found))
    (found as Record<string, unknown>)[name] = value
}

/** The names of the deployment of a case. */
export function namingOf({ shortName, idHeader }: Names) {
  return namingFor(shortName, idHeader)
}
