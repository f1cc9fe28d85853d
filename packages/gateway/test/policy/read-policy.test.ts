import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namingFor } from '@countersign/protocol'
import { Registry } from '@countersign/sdk'
import { testNoteKey } from '../../../../test/support/test-log.ts'
import { gateway } from '../../src/fetch.ts'
import { Gate } from '../../src/gate.ts'
import { PolicyError } from '../../src/policy/policy-error.ts'
import { readPolicy } from '../../src/policy/read-policy.ts'

const TAIL = 'A'.repeat(24)

test('an empty policy becomes the policy that the contract suggests, in enforce mode', () => {
  const { levels, mode, statuses, unreachable, routes } = readPolicy({}, namingFor())
  assert.deepEqual(levels, {
    none: 'deny',
    unknown: 'deny',
    directory: 'deny',
    unverified: 'limit',
    verified: 'allow',
  })
  assert.deepEqual(
    { mode, statuses, unreachable, routes },
    {
      mode: 'enforce',
      statuses: ['active'],
      unreachable: 'deny',
      routes: [],
    },
  )
  assert.deepEqual(readPolicy(undefined, namingFor()), readPolicy({}, namingFor()))
})

test('no delegate is accepted unless a rule says so, which a route may take back', () => {
  assert.equal(readPolicy({}, namingFor()).delegation, null)
  const routes = [{ path: '/closed', delegation: null }, { path: '/orders' }]
  const policy = readPolicy({ delegation: { maxDepth: 2 }, routes }, namingFor())
  assert.deepEqual(policy.delegation, { maxDepth: 2, maxSeconds: 3600, mcp: false })
  assert.equal(policy.routes[0]?.delegation, null)
  assert.deepEqual(policy.routes[1]?.delegation, policy.delegation)
  const wrong = { maxDepth: 4, maxSeconds: 0.5, mcp: 'yes', depth: 1 }
  assert.throws(() => readPolicy({ delegation: wrong }, namingFor()), {
    mistakes: [
      'policy.delegation.depth is unknown',
      'policy.delegation.maxDepth must be an integer from 1 to 3',
      'policy.delegation.maxSeconds must be an integer from 1 to 86400',
      'policy.delegation.mcp must be `true` or `false`',
    ],
  })
  for (const each of [true, [], 'all', 1]) {
    assert.throws(() => readPolicy({ delegation: each }, namingFor()), PolicyError)
  }
})

test('omitted fields keep their defaults, and a route inherits the rules of its policy', () => {
  const policy = readPolicy(
    {
      levels: { none: 'allow' },
      minimumGrade: 'C',
      limit: { requests: 5 },
      routes: [
        { path: '/admin/*', levels: { none: 'deny' } },
        { path: '/open', minimumGrade: null },
      ],
    },
    namingFor(),
  )
  assert.deepEqual(policy.levels, {
    none: 'allow',
    unknown: 'deny',
    directory: 'deny',
    unverified: 'limit',
    verified: 'allow',
  })
  assert.deepEqual(policy.limit, { requests: 5, seconds: 60 })
  const [admin, open] = policy.routes
  assert.equal(admin?.levels.none, 'deny')
  assert.equal(admin?.minimumGrade, 'C')
  assert.equal(open?.levels.none, 'allow')
  assert.equal(open?.minimumGrade, null)
})

test('DIDs in lists must belong to the deployment and are stored as full DIDs', () => {
  const { allow, deny } = readPolicy(
    { allow: [TAIL], deny: [`acme:agent:${TAIL}`] },
    namingFor('acme', 'AcmeID'),
  )
  assert.deepEqual([allow, deny], [[`acme:agent:${TAIL}`], [`acme:agent:${TAIL}`]])
  assert.throws(() => readPolicy({ deny: [`svc:agent:${TAIL}`] }, namingFor('acme')), PolicyError)
})

test('an invalid policy is refused with a list of every mistake', () => {
  const policy = {
    mode: 'Shadow',
    levels: { none: 'maybe', nobody: 'deny' },
    statuses: ['active', 'asleep'],
    minimumGrade: 'F',
    identityMethods: [],
    deny: ['svc:agent:short'],
    requireProof: 'yes',
    refusal: { status: 401, message: '', why: 'x' },
    unreachable: 'hope',
    maxStaleSeconds: -1,
    limit: { requests: 0, second: 1 },
    cacheSeconds: 61,
    preflight: false,
    routes: [
      { levels: {} },
      { path: 'admin' },
      { path: '/a/../b' },
      { path: '/%61' },
      { path: '/x', methods: ['get'] },
    ],
    denny: [],
  }
  const mistakes = [
    'policy.denny is unknown',
    'policy.levels.nobody is unknown',
    'policy.levels.none must be `allow`, `limit` or `deny`',
    'policy.statuses[1] must be `active`, `suspended` or `revoked`',
    'policy.minimumGrade must be',
    'policy.identityMethods must be',
    'policy.deny[0] must be',
    'policy.requireProof must be `true` or `false`',
    'policy.refusal.why is unknown',
    'policy.refusal.status must be `402`, `403` or `404`',
    'policy.refusal.message must be a text of at most 300 characters',
    'policy.unreachable must be',
    'policy.maxStaleSeconds must be a number from 0 to 86400',
    'policy.mode must be `enforce` or `shadow`',
    'policy.limit.second is unknown',
    'policy.limit.requests must be',
    'policy.cacheSeconds must be a number from 0 to 60',
    'policy.preflight must be',
    'policy.routes[0].path must be',
    'policy.routes[1].path must be',
    'policy.routes[2].path must be',
    'policy.routes[3].path must be',
    'policy.routes[4].methods[0] must be',
    'not a web address',
  ]
  assert.throws(
    () => new Gate({ service: 'nowhere', policy: policy as object, timeoutMs: 0 }),
    (error) => {
      assert.ok(error instanceof PolicyError)
      for (const each of mistakes.slice(0, -1)) {
        assert.ok(
          error.mistakes.some((mistake) => mistake.startsWith(each)),
          `${each}\n${error.message}`,
        )
      }
      assert.ok(error.message.includes('timeoutMs'))
      assert.ok(error.message.includes('https://id.example'))
      return true
    },
  )
})

test('requireLogged needs a tlog-policy with a log, and a route can leave it out', () => {
  const { verifierKey } = testNoteKey('id.example/log/1')
  const logged = { policy: `log ${verifierKey}\nquorum none\n` }
  const { requireLogged, routes } = readPolicy(
    { requireLogged: logged, routes: [{ path: '/a' }, { path: '/b', requireLogged: null }] },
    namingFor(),
  )
  assert.deepEqual(requireLogged, logged)
  assert.deepEqual(
    routes.map((each) => each.requireLogged),
    [logged, null],
  )
  const wrong: [unknown, RegExp][] = [
    ['log', /policy\.requireLogged must be an object/],
    [{}, /policy\.requireLogged\.policy is not a tlog-policy.*it is not a text/],
    [{ policy: 'quorum none' }, /it has no line "log"/],
    [{ policy: `log ${verifierKey}` }, /The policy has no line "quorum"/],
    [{ policy: `log ${verifierKey}\nquorum w` }, /Line 2 of the policy: "w" is not defined before/],
    [{ ...logged, logs: 1 }, /policy\.requireLogged\.logs is unknown/],
  ]
  for (const [value, message] of wrong) {
    const policy = { requireLogged: value as typeof logged }
    assert.throws(() => readPolicy(policy, namingFor()), message)
  }
})

test('requireLogged needs a registry that can be asked for proofs', () => {
  const { verifierKey } = testNoteKey('id.example/log/1')
  const requireLogged = { policy: `log ${verifierKey}\nquorum none\n` }
  const registry = new Registry('https://id.example')
  const { service, naming } = registry
  const older = {
    service,
    naming,
    lookup: registry.lookup,
    grade: registry.grade,
    agent: registry.agent,
  }
  const policy = { routes: [{ path: '/x', requireLogged }] }
  assert.throws(
    () => new Gate({ service: older, policy }),
    /policy\.routes\[0\]\.requireLogged requires a Registry with logProof/,
  )
  assert.ok(new Gate({ service: registry, policy }))
})

test('values that are not objects are refused as a policy', () => {
  for (const value of [null, 'deny', 1, [], () => ({})]) {
    if (value === null) assert.ok(readPolicy(value, namingFor()))
    else assert.throws(() => readPolicy(value, namingFor()), PolicyError)
  }
})

test('a policy cannot be changed after it was validated', () => {
  const input = { deny: [TAIL], levels: { none: 'allow' as const } }
  const policy = readPolicy(input, namingFor())
  input.deny.pop()
  assert.deepEqual(policy.deny, [`svc:agent:${TAIL}`])
  assert.ok(!Object.isFrozen(input.deny))
  assert.throws(() => ((policy.levels as { none: string }).none = 'deny'), TypeError)
})

test('requireProof without sessions is refused', () => {
  const service = 'https://id.example'
  for (const policy of [{ requireProof: true }, { routes: [{ path: '/x', requireProof: true }] }]) {
    assert.throws(() => new Gate({ service, policy }), /requireProof needs/)
    assert.ok(new Gate({ service, policy, sessions: { session: async () => null } }))
  }
})

test('a field of any other type is named', () => {
  const audiences = ['https://shop.example']
  const wrong = { trust: 'id.example', directories: {}, routes: 1, offline: [], limit: '5/m' }
  const gate = () => new Gate({ service: 'https://id.example', audiences, policy: wrong as never })
  assert.throws(gate, (error: PolicyError) => {
    for (const name of Object.keys(wrong)) {
      assert.ok(
        error.mistakes.some((each) => each.startsWith(`policy.${name} must be `)),
        name,
      )
    }
    return true
  })
})

test('a gateway without a service asks for it', () => {
  for (const options of [{}, undefined, 'https://id.example', { policy: { requireProof: true } }]) {
    assert.throws(
      () => gateway(options as never),
      (error) => {
        assert.ok(error instanceof PolicyError)
        assert.deepEqual(error.mistakes.length, 1)
        assert.match(error.message, /option service is missing.*gateway\(\{ service: 'https:/)
        return true
      },
    )
  }
})
