import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  appendHop,
  coversLimits,
  headerFields,
  isWithinLimits,
  memoryNonceStore,
  type NonceStore,
  ProvenChains,
  type RawRequest,
  type RequestVerifierOptions,
  readLimits,
  requestVerifier,
  signatureReader,
  type UsedNonce,
  verifyWithKey,
} from '../../src/index.ts'
import { optionsOf, validRequest, vectors } from '../support/delegation.ts'
import { signWith } from '../support/signed-requests.ts'
import { bytesOf } from '../support/vectors.ts'

const NOW = vectors.now
const [agent] = vectors.agents
const ONE_HOP = validRequest('one hop')
const chainOf = ({ headers }: RawRequest) =>
  headers.find(([name]) => name === 'ServiceID-Certificate')?.[1] ?? assert.fail()

test('without the option every chain is refused, also where a key lookup would return the key of the delegate', async () => {
  const { delegation: _, ...options } = optionsOf()
  const findKey = () => assert.fail('no key is looked up')
  const { verdict, reason, status, did } = await requestVerifier({ ...options, findKey })(ONE_HOP)
  assert.deepEqual([verdict, reason, status, did], ['invalid', 'delegation-refused', 403, null])

  const signature = signatureReader(options)(ONE_HOP, headerFields(ONE_HOP.headers))
  assert.ok(!('verdict' in signature))
  const key = { publicKey: bytesOf(agent?.publicKeyHex ?? ''), did: agent?.did ?? '' }
  const always = () => true
  const step = await verifyWithKey(signature, { ...key, status: 'active' }, always)
  assert.ok('verdict' in step && step.reason === 'delegation-refused')
})

test('neither the root is looked up nor a signature verified before the chain fits, nor the nonce recorded before its limits do', async () => {
  const fails = () => assert.fail('asked')
  const dependencies = { findKey: fails, verifySignature: fails, nonces: { record: fails } }
  for (const each of vectors.invalid) {
    const early = ['format', 'key', 'depth', 'times', 'widened', 'binding'].includes(
      each.fault ?? '',
    )
    if (!early && each.reason !== 'delegation-refused' && each.reason !== 'delegation-expired')
      continue
    const { delegation } = optionsOf(each)
    const options = optionsOf(each, {
      ...dependencies,
      delegation: delegation && { ...delegation, findRoot: fails },
    })
    await requestVerifier(options)(each.request as RawRequest)
  }
  for (const each of vectors.invalid.filter(({ reason }) => reason === 'delegation-limit')) {
    const options = optionsOf(each, { nonces: { record: fails }, admit: fails })
    const { did, delegation } = await requestVerifier(options)(each.request as RawRequest)
    assert.equal(did, agent?.did)
    assert.equal(delegation?.hops.length, 1)
  }
})

test('the policy of the site sees the agent and the delegation', async () => {
  const seen: unknown[] = []
  const admit: RequestVerifierOptions['admit'] = ({ did, keyid, delegation }) => {
    seen.push([did, keyid, delegation?.depth])
    return false
  }
  const { reason, delegation } = await requestVerifier(optionsOf({}, { admit }))(ONE_HOP)
  assert.equal(reason, 'not-admitted')
  assert.deepEqual(seen, [[agent?.did, delegation?.keyid, 1]])
})

test('all delegates of an agent take one share of the nonce store', async () => {
  const recorded: UsedNonce[] = []
  const nonces: NonceStore = {
    record: (nonce) => {
      recorded.push(nonce)
      return 'fresh'
    },
  }
  const verify = requestVerifier(optionsOf({}, { nonces }))
  for (const name of ['one hop', 'two hops', 'three hops']) {
    assert.equal((await verify(validRequest(name))).verdict, 'verified')
  }
  assert.deepEqual(
    recorded.map(({ keyid }) => keyid),
    [agent?.keyid, agent?.keyid, agent?.keyid],
  )
  assert.equal(new Set(recorded.map(({ hash }) => hash)).size, 3)

  let clock = NOW - 600_000
  const small = memoryNonceStore({ now: () => clock, random: () => 'B'.repeat(22), maxEntries: 32 })
  clock = NOW
  const shared = requestVerifier(optionsOf({}, { nonces: small }))
  const verdicts = ['one hop', 'two hops', 'three hops'].map(
    async (name) => (await shared(validRequest(name))).reason,
  )
  assert.deepEqual(await Promise.all(verdicts), [null, null, 'too-many-requests'])
})

test('a chain whose hops were verified costs one signature; its certificate, times and policy count each time', async () => {
  let verified = 0
  let now = NOW
  let answer: 'active' | 'delegation-ended' = 'active'
  const base = optionsOf({}, { nonces: null })
  const { delegation, verifySignature } = base
  assert.ok(delegation)
  const proven = new ProvenChains()
  const verifier = (maxDepth: number) =>
    requestVerifier({
      ...base,
      now: () => now,
      verifySignature: (...args) => {
        verified += 1
        return verifySignature(...args)
      },
      delegation: {
        ...delegation,
        maxDepth,
        proven,
        findRoot: (root) => (answer === 'active' ? delegation.findRoot(root) : answer),
      },
    })
  const request = validRequest('two hops')
  const reasonAndCost = async (maxDepth: number) => {
    verified = 0
    const { reason } = await verifier(maxDepth)(request)
    return [reason, verified]
  }
  assert.deepEqual(await reasonAndCost(3), [null, 3])
  assert.deepEqual(await reasonAndCost(3), [null, 1])
  assert.deepEqual(await reasonAndCost(1), ['delegation-refused', 0])
  answer = 'delegation-ended'
  assert.deepEqual(await reasonAndCost(3), ['delegation-ended', 0])
  answer = 'active'
  now = NOW - 7_200_000
  assert.deepEqual(await reasonAndCost(3), ['not-yet-valid', 0])
  now = NOW + 60_000
  assert.deepEqual(await reasonAndCost(3), [null, 1])
})

test('a key for the root that is not the one in the certificate, or of another DID, does not count', async () => {
  const { delegation } = optionsOf()
  assert.ok(delegation)
  const [one, other] = vectors.agents
  assert.ok(one && other)
  for (const [publicKeyHex, did] of [
    [other.publicKeyHex, one.did],
    [one.publicKeyHex, other.did],
    [one.publicKeyHex, null],
  ] as const) {
    const findRoot = () => ({ publicKey: bytesOf(publicKeyHex), did, status: null })
    const options = optionsOf({}, { delegation: { ...delegation, findRoot } })
    const result = await requestVerifier(options)(ONE_HOP)
    assert.deepEqual([result.reason, result.delegation?.fault], ['delegation-invalid', 'root'])
  }
})

test('a policy that would accept what nobody meant is refused', () => {
  const { delegation } = optionsOf()
  assert.ok(delegation)
  for (const change of [
    { maxDepth: 0 },
    { maxDepth: 4 },
    { maxDepth: Number.NaN },
    { maxSeconds: Number.POSITIVE_INFINITY },
    { maxSeconds: 86_401 },
    { mcp: 'false' as never },
    { maxDepth: '3' as never },
  ]) {
    const options = optionsOf({}, { delegation: { ...delegation, ...change } })
    assert.throws(() => requestVerifier(options), RangeError, JSON.stringify(change))
  }
})

test('a chain that is written here is one that verifies, byte for byte as OpenSSL signed it', async () => {
  const request = validRequest('two hops')
  const theirs = chainOf(request)
  const hops = theirs.split('~').filter((each) => each !== '')
  const [certificate = '', ...tokens] = hops
  let ours = certificate
  const seeds = ['01', 'd1']
  for (const [at, token] of tokens.entries()) {
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    const [{ exp, max_depth: maxDepth, cnf, limits }] = claims.delegate_payload
    const hop = {
      publicKey: Buffer.from(cnf.jwk.x, 'base64url'),
      issuedAt: claims.iat,
      expiresAt: exp,
      nonce: claims.nonce,
      maxDepth,
      limits: { methods: null, paths: null, mcp: null, ...limits },
    }
    ours = await appendHop(ours, hop, (message) => signWith((seeds[at] ?? '').repeat(32), message))
  }
  assert.equal(ours, theirs)
  await assert.rejects(
    appendHop('a~~', {} as never, () => assert.fail()),
    RangeError,
  )
})

test('whatever a narrower hop allows, the hop before it allows too', () => {
  const paths = ['/*', '/a', '/a/*', '/a/b', '/a/b/*', '/b', '/a/', '/A', '/%C3%A9']
  const requests = [
    '/',
    '/a',
    '/a/',
    '/a/b',
    '/a/b/',
    '/a/b/c',
    '/b',
    '/A',
    '/a//b',
    '/%C3%A9',
    '/a;b',
  ]
  const some = (values: readonly string[]) =>
    fc.option(fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 3 }))
  const limits = fc.record({
    origins: fc.uniqueArray(fc.constantFrom('https://a.example', 'https://b.example'), {
      minLength: 1,
    }),
    methods: some(['GET', 'HEAD', 'POST']),
    paths: some(paths),
    mcp: some(['tools/list', 'tools/call', 'tools/call a']),
  })
  const request = fc.record({
    origin: fc.constantFrom('https://a.example', 'https://b.example'),
    method: fc.constantFrom('GET', 'HEAD', 'POST'),
    path: fc.constantFrom(...requests),
    mcp: fc.constantFrom(
      [],
      [['Mcp-Method', 'tools/list']],
      [
        ['Mcp-Method', 'tools/call'],
        ['Mcp-Name', 'a'],
      ],
    ),
    further: fc.constantFrom([], [['X-HTTP-Method', 'PUT']]),
  })
  fc.assert(
    fc.property(limits, limits, request, (before, after, { mcp, further, ...rest }) => {
      const fields = headerFields([...mcp, ...further] as [string, string][])
      const sent = { ...rest, fields }
      if (coversLimits(before, after) && isWithinLimits(after, sent)) {
        assert.ok(isWithinLimits(before, sent))
      }
      const text = JSON.parse(JSON.stringify(before, (_, value) => value ?? undefined))
      assert.deepEqual(readLimits(text), { ...before })
    }),
    { numRuns: 3_000 },
  )
})
